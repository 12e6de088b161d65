"""Configure Python's garbage collector."""

from __future__ import annotations

import gc

YOUNG = 50_000
"""Number of allocated container objects that triggers a collection of the youngest generation; the default is 700."""


def tune_gc() -> None:
    """Freeze start-up objects and make garbage collection rarer. Call it once, after the start.

    A batch creates thousands of objects and hardly any reference cycles. With Python's default threshold, garbage
    collection takes a fifth of a service's CPU time.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG, 20, 10)
