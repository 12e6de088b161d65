"""Configuration of Python's garbage collector."""

from __future__ import annotations

import ctypes
import gc
from contextlib import suppress

YOUNG = 50_000
"""Number of allocated container objects that triggers a collection of the youngest generation; the default is 700."""


def tune_gc() -> None:
    """Make garbage collection less frequent, exempt all existing objects, and return free memory to the system.

    Call this once, after the start, which needs more memory than a running service, for example to load models.

    A batch creates thousands of objects but hardly any reference cycles. With Python's default threshold, garbage
    collection would take a fifth of a service's CPU time.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG, 20, 10)
    with suppress(AttributeError):  # only the GNU C library has this function
        ctypes.CDLL(None).malloc_trim(0)
