"""Joins what the services say of an event or a message into its way through the platform."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

MOST_IDS: Final = 100
"""Ids of one request, so that its address stays below every server's limit."""
Params = Sequence[tuple[str, str]]
Ask = Callable[[str, Params], Awaitable[Mapping[str, Any]]]
"""Called with a service's part of the path (`chat`, `feedback`, `reports`) and the parameters; returns the answer."""


@dataclass(frozen=True)
class Way:
    """The records of the bridge and of the feedback service, and the state of the feedback records that they change."""

    chat: Sequence[Mapping[str, Any]]
    feedback: Sequence[Mapping[str, Any]]
    stored: Mapping[str, Mapping[str, Any]]
    counted: Mapping[str, Mapping[str, Any]]

    @property
    def found(self) -> bool:
        return bool(self.chat or self.feedback)

    def steps(self) -> list[dict[str, str]]:
        """Return one step a record, the oldest first: service, coordinates, outcome, and what that led to."""
        rows = [("chat_bridge", one) for one in self.chat] + [("feedback", one) for one in self.feedback]
        rows.sort(key=lambda row: row[1]["noted_at"])
        return [self._step(service, one) for service, one in rows]

    def _step(self, service: str, one: Mapping[str, Any]) -> dict[str, str]:
        why = ": ".join(part for part in (one["reason"], one["detail"]) if part)
        return {
            "service": service,
            "record": one["at"],
            "event_id": one["event_id"],
            "outcome": f"{one['outcome']} ({why})" if why else one["outcome"],
            "feedback": self._feedback(one["feedback_id"]),
            "noted_at": one["noted_at"],
        }

    def _feedback(self, feedback_id: str | None) -> str:
        """Say what became of a feedback record: stored, announced, counted."""
        if feedback_id is None:
            return ""
        stored, counted = self.stored.get(feedback_id), self.counted.get(feedback_id)
        if stored is None:
            return f"{feedback_id} is not stored"
        said = (
            f"{feedback_id} at revision {stored['revision']}, {stored['state']}, announced as {stored['announced_as']}"
        )
        if counted is None:
            return f"{said}, not in the reports"
        behind = "" if counted["revision"] >= stored["revision"] else f" at revision {counted['revision']}"
        return f"{said}, {counted['state']}{behind}"

    def facts(self) -> dict[str, Any]:
        """Return everything as the services said it."""
        return {
            "chat_bridge": list(self.chat),
            "feedback": list(self.feedback),
            "stored": list(self.stored.values()),
            "reported": list(self.counted.values()),
        }


async def way_of(ask: Ask, id_: str, *, is_message: bool) -> Way:
    """Follow an event, or all events about a message, through the services: three requests at most."""
    name = "message_id" if is_message else "event_id"
    chat = (await ask("chat", [(name, id_)]))["records"]
    wanted: list[tuple[str, str]] = [(name, id_)]
    wanted += [("cause", one) for one in _some(row["cause"] for row in chat)]
    # A verdict is read out of a message; it names that message, not the record.
    spoken = (row["message_id"] for row in chat if row["at"].startswith("chat.message.ingested:") and row["message_id"])
    wanted += [("message_id", one) for one in _some(spoken)]
    answer = await ask("feedback", wanted)
    places = {(row["conversation_id"]) for row in chat}
    records = [one for one in answer["records"] if not places or one["conversation_id"] in places]
    ids = {row["feedback_id"] for row in records if row["feedback_id"]}
    stored = {one["feedback_id"]: one for one in answer["feedbacks"] if one["feedback_id"] in ids}
    reported = await ask("reports", [("feedback_id", one) for one in _some(stored)]) if stored else {"feedbacks": []}
    return Way(chat, records, stored, {one["feedback_id"]: one for one in reported["feedbacks"]})


def _some(ids: Any) -> Collection[str]:
    return list(dict.fromkeys(ids))[:MOST_IDS]
