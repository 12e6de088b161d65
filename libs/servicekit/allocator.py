"""Sets how the C library hands out memory."""

from __future__ import annotations

import contextlib
import ctypes
from typing import Final

_M_ARENA_MAX: Final = -8
"""glibc's name for the option."""


def share_one_arena() -> None:
    """Let all threads take memory from one arena. Call it before threads are started; does nothing without glibc.

    By itself glibc gives each thread an arena, and what is free in one is of no use to another. Here one thread does
    nearly all the work, so hardly any ever waits for another.
    """
    with contextlib.suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, 1)
