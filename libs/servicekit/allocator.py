"""Configuration of the C library's memory allocation."""

from __future__ import annotations

import contextlib
import ctypes
from typing import Final

_M_ARENA_MAX: Final = -8
"""glibc's name for the option."""


def share_one_arena() -> None:
    """Let all threads allocate from one arena. Call it before threads are started; does nothing without glibc.

    By default glibc gives each thread an arena, and free memory of one is unusable for the others. Here one thread does
    nearly all the work, so contention is rare.
    """
    with contextlib.suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, 1)
