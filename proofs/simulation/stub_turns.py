"""An intake of turns that stores nothing, because no invariant concerns the index of turns."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from detector.model import Verdict
from inference.store import MessageKey, Placed
from inference.turns.facts import Facts
from inference.turns.store import PreviousVerdict


class StubTurns:
    """See `inference.turns.store.TurnIntake`."""

    async def take(
        self, facts: Collection[Facts], judged: Collection[tuple[Placed, Verdict]], detector: str = ""
    ) -> Mapping[MessageKey, PreviousVerdict]:
        return {}
