"""Late outcomes, which become known only after a record's batch, for example because an event waits for another one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from contracts.topics import Consumer
from servicekit.log.dead_letters import NoteDeadLetters, ignore_dead_letters, letters_of
from servicekit.log.messages import Producer
from servicekit.log.observing import log_outcome, observe
from servicekit.log.outcome import Observer, Outcome
from servicekit.log.records import Received
from servicekit.log.slots import Slot

Late = tuple[Received[Any], Outcome]
"""A record that the service has stored, and its late outcome."""


class LateOutcomes:
    """Recorder for those outcomes of a consumer group that become known only after a record's batch.

    It writes dead letters, counts the outcomes, and calls the observers.
    """

    def __init__(
        self,
        group: Consumer,
        producer: Producer,
        observers: Sequence[Observer] = (),
        note_dead_letters: NoteDeadLetters = ignore_dead_letters,
    ) -> None:
        self._group: Consumer = group
        self._producer = producer
        self._observers = observers
        self._note_dead_letters = note_dead_letters

    async def set_aside(self, late: Sequence[Late]) -> None:
        """Write dead letters for the records that cannot be processed, and wait until the log acknowledges them."""
        refused = [slot for slot in map(_slot, late) if slot.is_dead_letter]
        for chunk in letters_of(refused, self._group):
            await self._producer.send([letter.message for letter in chunk])
            for letter in chunk:
                log_outcome(self._group, letter.slot)
        if refused:
            await self._note_dead_letters(refused)

    async def note(self, late: Sequence[Late]) -> None:
        """Count the outcomes, and pass them to the observers."""
        slots = [_slot(record) for record in late]
        observe(self._observers, self._group, slots, {slot.topic for slot in slots}, late=True)


def _slot(late: Late) -> Slot:
    received, outcome = late
    return Slot(received.raw, received, outcome)
