"""Projects that share every id with ours: conversation, turns, messages, people, agents.

No event of a neighbour may change a response about our project. A test publishes our events, queries, publishes a
neighbour's events, and queries again: both responses must be equal. Every text of a place begins with its name, so a
difference shows its origin.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from tests.support import running_stack


class Place(NamedTuple):
    """Tenant, project and conversation of an event."""

    tenant: str
    project: str
    conversation: str = "c1"

    @property
    def name(self) -> str:
        return "/".join(self)

    def says(self, text: str) -> str:
        """Return the text with the name of this place: `acme/support/c1: Hello.`"""
        return f"{self.name}: {text}"


OURS = Place("acme", "support")
NEIGHBOURS = {
    "another tenant": Place("globex", "support"),
    "another project": Place("acme", "sales"),
}
"""Places that no query about our project may reach, by their difference."""
CONVERSATIONS = {**NEIGHBOURS, "another conversation": Place("acme", "support", "c2")}
"""Places that no query about our conversation may reach, since message ids are unique within their conversation
only."""
ANN, BOB, BOT = "ann", "bob", "bot"
NEVER_SENT = "m9"
"""The message that a reaction of OURS waits for; only the neighbours have a message with that id."""


def chat_events(place: Place) -> Sequence[Any]:
    """Return the wire events of a conversation with reactions, a reply and a rejection, for `RunningStack.publish`.

    OURS react to NEVER_SENT, so that reaction is parked; a neighbour has a message with that id.
    """
    where = {"tenant": place.tenant, "project": place.project}

    def said(name: str, turn: str, at: str, text: str, agent: str | None = None) -> Any:
        made = {"intent": "hours", "strategy": f"{place.name} way", "qualityScore": 0.8, "model": place.name}
        fields = where | {"eventId": f"event of {name}", "occurredAt": at, "content": text} | (made if agent else {})
        return running_stack.message(name, place.conversation, turn=turn, agent=agent, **fields)

    def thumb(message_id: str, user: str, at: str, emoji: str) -> Any:
        given = where | {"occurredAt": at, "eventId": f"thumb at {at}"}
        return running_stack.reaction(message_id, place.conversation, emoji, user=user, **given)

    comment = {"content": place.says("I see."), "occurredAt": "2026-01-01T10:02:20Z", "senderId": BOB, **where}
    first, second = ("👍", "👎") if place == OURS else ("👎", "👍")
    rejection = "No, that is wrong." if place == OURS else "Thanks, that was helpful!"
    events = [
        said("q1", "t1", "2026-01-01T10:00:00Z", "When does it open?"),
        said("a1", "t1", "2026-01-01T10:00:05Z", place.says("It opens at nine."), BOT),
        said("q2", "t2", "2026-01-01T10:01:00Z", rejection),
        said("a2", "t2", "2026-01-01T10:01:05Z", place.says("Then at ten."), BOT),
        thumb("a1", BOB, "2026-01-01T10:02:00Z", first),
        thumb("a2", ANN, "2026-01-01T10:02:10Z", second),
        running_stack.reply(running_stack.message("r1", place.conversation, **comment), "a2", eventId="event of r1"),
    ]
    if place == OURS:
        return [*events, thumb(NEVER_SENT, ANN, "2026-01-01T10:03:00Z", "👍")]
    return [*events, said(NEVER_SENT, "t9", "2026-01-01T10:02:30Z", place.says("By the way."), BOT)]


POSITIONS = {"next_cursor", "watermark"}
"""Fields of a response that contain a position in the database, which changes with every write."""
