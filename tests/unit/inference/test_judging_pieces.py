"""Judging leaves time for heartbeats, however slow the machine is."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest

from detector.model import Message, Neighbourhood
from inference import judging
from inference.judging import BLOCKED_SECONDS, LARGEST_PIECE, Judging, next_piece

MESSAGES = 1_500


class SlowDetector:
    """Detector that returns its input, after `seconds` per item on its own clock."""

    version = "slow"

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self.now = 1_000.0
        self.pieces: list[int] = []

    def judge(self, items: Sequence[Any]) -> list[Any]:
        self.pieces.append(len(items))
        self.now += len(items) * self._seconds
        return list(items)


@pytest.mark.parametrize("seconds", [0.000_1, 0.001, 0.012, 0.1])
async def test_judging_lets_others_run_several_times_in_a_session(
    seconds: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    detector = SlowDetector(seconds)
    monkeypatch.setattr(judging, "monotonic", lambda: detector.now)
    others: Any = None
    judged = Judging(others, others, others, detector)  # type: ignore[arg-type]
    ran_at = [detector.now]

    async def heartbeat() -> None:
        while True:
            ran_at.append(detector.now)
            await asyncio.sleep(0)

    beating = asyncio.create_task(heartbeat())
    items: Any = list(range(MESSAGES))
    assert await judged._judge(items) == items
    beating.cancel()
    first = detector.pieces[0] * seconds
    gaps = [later - earlier for earlier, later in pairwise(ran_at)]
    assert max(gaps) <= max(first, 2 * BLOCKED_SECONDS) + 1e-9 <= 2


def test_pieces_grow_to_the_largest_and_never_vanish() -> None:
    assert next_piece(16, 0.0) == 32
    assert next_piece(200, 0.01) == LARGEST_PIECE
    assert next_piece(100, BLOCKED_SECONDS * 4) == 25
    assert next_piece(1, 60.0) == 1


async def test_a_short_last_piece_does_not_shrink_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    detector = SlowDetector(0.000_01)
    monkeypatch.setattr(judging, "monotonic", lambda: detector.now)
    others: Any = None
    judged = Judging(others, others, others, detector)  # type: ignore[arg-type]
    item = Neighbourhood((), Message("m1", "t1", "ann", "human", None, "No.", 0))
    await judged._judge([item] * (16 + 32 + 64 + 1))
    await judged._judge([item] * 200)
    assert detector.pieces == [16, 32, 64, 1, 128, 72]
