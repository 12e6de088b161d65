"""Configure the C library's memory allocator."""

from __future__ import annotations

import contextlib
import ctypes
from typing import Final

_M_ARENA_MAX: Final = -8
"""glibc's `mallopt` parameter for the number of arenas."""


def share_one_arena() -> None:
    """Make all threads allocate memory from one arena. Call this before any thread starts. Does nothing without glibc.

    By default, glibc gives threads their own arenas, and free memory in one arena is unusable for other threads. In
    these programs one thread does nearly all the work, so contention is rare.
    """
    with contextlib.suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, 1)
