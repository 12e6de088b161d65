"""Configuration of the C library's memory allocator."""

from __future__ import annotations

import contextlib
import ctypes
from typing import Final

_M_ARENA_MAX: Final = -8
"""glibc's `mallopt` parameter for the number of arenas."""


def share_one_arena() -> None:
    """Make all threads allocate memory from a single arena. Call this before starting any thread.

    By default, glibc creates an arena for each thread, and memory freed in one arena is not available to threads that
    use another. In these programs one thread does nearly all the work, so contention is rare. Without glibc, this does
    nothing.
    """
    with contextlib.suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, 1)
