"""Outcomes of the messages of a batch."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from chat_bridge.batch import Batch
from contracts.chat import ChatMessageIngested
from servicekit import Outcome, Received
from servicekit.log.records import Coordinates, RawRecord
from tests.support.logs import example

TOPIC = "chat.message.ingested"
STORED, UNCHANGED = Outcome.STORED, Outcome.UNCHANGED


def read(number: int, content: str) -> Received[ChatMessageIngested]:
    """Return the numbered version of a message, as read from the log."""
    changes = {"eventId": f"e{number}", "occurredAt": f"2026-11-20T09:0{number}:00Z", "content": content}
    event = ChatMessageIngested.model_validate_json(example(TOPIC, "agent", **changes))
    return Received(event, RawRecord(Coordinates(TOPIC, 0, number), None, b"{}", (), event.occurred_at))


@pytest.mark.parametrize(
    ("is_changed", "contents", "outcomes"),
    [
        (True, ["At nine."], [STORED]),
        (False, ["At nine."], [UNCHANGED]),
        (True, ["At nine.", "At nine."], [STORED, UNCHANGED]),
        (True, ["At nine.", "At ten."], [STORED, STORED]),
        (False, ["At nine.", "At ten."], [UNCHANGED, UNCHANGED]),
    ],
)
def test_a_message_is_stored_if_it_changes_the_index(
    is_changed: bool, contents: Sequence[str], outcomes: Sequence[Outcome]
) -> None:
    batch = Batch.of([read(number, content) for number, content in enumerate(contents)])
    batch.indexed({batch.messages[0].key} if is_changed else set())
    assert [one.outcome for one in batch.events] == outcomes
