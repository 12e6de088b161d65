"""An intake of turns that keeps nothing: no promise that is simulated hangs on the index of turns."""

from __future__ import annotations

from collections.abc import Collection

from inference.model import Verdict
from inference.store import Placed
from inference.turn_facts import Facts


class StubTurns:
    """See `inference.turn_index.TurnIntake`."""

    async def take(self, facts: Collection[Facts], judged: Collection[tuple[Placed, Verdict]]) -> None:
        return None
