"""Late outcomes, which become known only after a record's batch, for example because an event waits for another one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from contracts.topics import Consumer
from servicekit.log.dead_letters import NoteDeadLetters, dead_letter, ignore_dead_letters
from servicekit.log.journal import Journal
from servicekit.log.messages import Producer
from servicekit.log.observing import observe
from servicekit.log.outcome import Observation, Observer, Outcome
from servicekit.log.record_ids import ids_of
from servicekit.log.records import Received, Unreadable

Late = tuple[Received[Any], Outcome]
"""A record that the service has stored, and its late outcome."""


class LateOutcomes:
    """Recorder for those outcomes of a consumer group that become known only after a record's batch.

    It writes dead letters and journal entries, counts the outcomes, and calls the observers.
    """

    def __init__(
        self,
        group: Consumer,
        producer: Producer,
        observers: Sequence[Observer] = (),
        journal: Journal | None = None,
        note_dead_letters: NoteDeadLetters = ignore_dead_letters,
    ) -> None:
        self._group: Consumer = group
        self._producer = producer
        self._observers = observers
        self._journal = journal
        self._note_dead_letters = note_dead_letters

    async def set_aside(self, late: Sequence[Late]) -> None:
        """Write dead letters for the records that cannot be processed, and wait until the log acknowledges them."""
        refused = [
            Unreadable(received.raw, outcome.reason, outcome.detail)
            for received, outcome in late
            if outcome.kind == "dead_lettered"
        ]
        await self._producer.send(
            [dead_letter(one.raw, service=self._group, reason=one.reason, error_class="permanent") for one in refused]
        )
        if refused:
            await self._note_dead_letters(refused)

    async def note(self, late: Sequence[Late]) -> None:
        """Record the outcomes in the journal and the metrics, and pass them to the observers."""
        if self._journal is not None:
            await self._journal.settle([(received.event, received.cause, outcome) for received, outcome in late])
        for received, outcome in late:
            ids = ids_of(received.raw) if outcome.kind == "dead_lettered" else None
            place = str(received.raw.coordinates)
            observe(self._observers, Observation(self._group, received.topic, received.cause, outcome, place, ids))
