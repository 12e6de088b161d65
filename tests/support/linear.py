"""Check that a function of other people's text takes time in proportion to the text's length."""

from __future__ import annotations

from collections.abc import Callable
from time import process_time
from typing import Final

import pytest

LENGTHS: Final = (25_000, 50_000, 100_000, 200_000)
"""Lengths of the tried input. A quadratic function takes 64 times as long for the last as for the first."""
_ALLOWED: Final = 24
_NOISE_SECONDS: Final = 0.02
"""Time that is too short to tell anything."""


def doubles(function: Callable[[int], object]) -> None:
    """Fail if eight times the input takes three times longer than a linear function would need."""
    shortest = _seconds(function, LENGTHS[0])
    for length in LENGTHS[1:]:
        took = _seconds(function, length)
        if took > max(shortest, _NOISE_SECONDS) * _ALLOWED:
            pytest.fail(f"{length:,} characters take {took:.2f} s, {LENGTHS[0]:,} take {shortest:.3f} s")


def _seconds(function: Callable[[int], object], length: int) -> float:
    """Return the shortest processor time of three calls."""
    times = []
    for _ in range(3):
        began = process_time()
        function(length)
        times.append(process_time() - began)
    return min(times)
