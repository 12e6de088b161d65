"""An intake of turns that keeps nothing: no promise that is simulated hangs on the index of turns."""

from __future__ import annotations

from collections.abc import Collection

from detector.model import Verdict
from inference.store import Placed
from inference.turns.facts import Facts


class StubTurns:
    """See `inference.turns.store.TurnIntake`."""

    async def take(self, facts: Collection[Facts], judged: Collection[tuple[Placed, Verdict]]) -> None:
        return None
