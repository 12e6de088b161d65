"""Trace of an event or message through the services, built from their responses."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from contracts.announcement_threshold import ANNOUNCEMENT_THRESHOLD
from contracts.topics import CHAT_MESSAGE, CHAT_REPLY

MOST_IDS: Final = 100
"""Maximum number of ids per request, which keeps the URL shorter than any server's limit."""
Params = Sequence[tuple[str, str]]
Ask = Callable[[str, Params], Awaitable[Mapping[str, Any]]]
"""Function that sends a request to a service and returns the response.

It receives the path prefix of the service (`chat`, `feedback`, `inference` or `reports`) and the query parameters.
"""
Facts = Mapping[str, Any]
_MESSAGE_TOPICS: Final = (CHAT_MESSAGE.name, CHAT_REPLY.name)
_HELD_BACK: Final = {
    "machine_text": "a client program wrote the message",
    "language": "the detector does not read its language",
    "no_feedback": "it judges no answer",
    "no_answer": "no answer is found that it is about",
    "topic_change": "a new topic accepts the answer silently",
    "follow_up": "a follow-up accepts the answer silently",
    "below_threshold": f"the confidence is below {ANNOUNCEMENT_THRESHOLD:.2f}",
    "below_target": "verdicts of its kind are right less often than the target precision",
}


@dataclass(frozen=True)
class EventTrace:
    """Responses of all services about an event.

    Attributes:
        records: Outcomes of the event's records, by service.
        judged: Messages indexed by inference, with their verdicts.
        stored: State of each feedback record in the store, by id.
        counted: State of each feedback record in the reports, by id.
    """

    records: Mapping[str, Sequence[Facts]]
    judged: Sequence[Facts]
    stored: Mapping[str, Facts]
    counted: Mapping[str, Facts]

    @property
    def found(self) -> bool:
        return any(self.records.values()) or bool(self.judged)

    def steps(self) -> list[dict[str, str]]:
        """Return the steps of the event, oldest first: service, record or message, outcome and effect."""
        rows = [(one["noted_at"], self._step(service, one)) for service, found in self.records.items() for one in found]
        rows += [(one["noted_at"], _verdict(one)) for one in self.judged]
        return [step for _, step in sorted(rows, key=lambda row: row[0])]

    def _step(self, service: str, one: Facts) -> dict[str, str]:
        why = ": ".join(part for part in (one["reason"], one["detail"]) if part)
        return {
            "service": service,
            "record": one["at"],
            "event_id": one["event_id"],
            "conversation_id": one["conversation_id"] or "",
            "outcome": f"{one['outcome']} ({why})" if why else one["outcome"],
            "feedback": self._feedback(one) if service == "feedback" else "",
            "noted_at": one["noted_at"],
        }

    def _feedback(self, record: Facts) -> str:
        """Describe how a feedback record is stored, announced and reported, given the log record that changes it."""
        feedback_id = record["feedback_id"]
        stored, counted = self.stored.get(feedback_id), self.counted.get(feedback_id)
        if stored is None:
            return "" if feedback_id is None or record["outcome"] == "ignored" else f"{feedback_id} is not stored"
        said = (
            f"{feedback_id} at revision {stored['revision']}, {stored['state']}, announced as {stored['announced_as']}"
        )
        if counted is None:
            return f"{said}, not in the reports"
        behind = "" if counted["revision"] >= stored["revision"] else f" at revision {counted['revision']}"
        return f"{said}, {_counted(counted)}{behind}"

    def facts(self) -> dict[str, Any]:
        """Return the responses of the services unchanged."""
        return {
            **{service: list(found) for service, found in self.records.items()},
            "judged": list(self.judged),
            "stored": list(self.stored.values()),
            "reported": list(self.counted.values()),
        }


async def trace_event(ask: Ask, id_: str, *, is_message: bool) -> EventTrace:
    """Ask the services about an event, or about all events of a message. Takes at most four requests."""
    name = "message_id" if is_message else "event_id"
    chat = (await ask("chat", [(name, id_)]))["records"]
    # A verdict is derived from a message, so it has the message's id, not the record's coordinates.
    messages = _some(row["message_id"] for row in chat if row["at"].split(":")[0] in _MESSAGE_TOPICS)
    wanted = [(name, id_), *(("message_id", one) for one in messages if one and (name, one) != (name, id_))]
    places = {row["conversation_id"] for row in chat}

    def here(found: Sequence[Facts]) -> list[Facts]:
        return [one for one in found if not places or one["conversation_id"] in places]

    inferred = await ask("inference", wanted)
    answer = await ask("feedback", [*wanted, *_named("cause", (row["cause"] for row in chat))])
    records = here(answer["records"])
    ids = {row["feedback_id"] for row in records if row["feedback_id"]}
    stored = {one["feedback_id"]: one for one in answer["feedbacks"] if one["feedback_id"] in ids}
    causes = _named("cause", (row["cause"] for row in (*chat, *records)))
    reported = await ask("reports", [*wanted, *causes, *_named("feedback_id", stored)])
    return EventTrace(
        {
            "chat_bridge": chat,
            "inference": here(inferred["records"]),
            "feedback": records,
            "reporting": here(reported["records"]),
        },
        [one for one in here(inferred["judged"]) if one["role"] == "human"],
        stored,
        {one["feedback_id"]: one for one in reported["feedbacks"]},
    )


def _counted(one: Facts) -> str:
    """Describe the state of a feedback record in the reports, and the figures that include it."""
    if one["counted_in"] is None:
        return str(one["state"])
    counted = one["counted_in"]
    if one["state"] == "listed":
        return f"counted among the replies of the hour {counted['hour'][:16]}Z"
    figures = " and ".join(filter(None, [", ".join(counted["figures"][:-1]), counted["figures"][-1]]))
    rolled_up = "rolled up" if counted["rolled_up"] else "not rolled up yet"
    state = "counted" if one["state"] == "counted" else f"{one['state']}, counted"
    return f"{state} in {figures} of the hour {counted['hour'][:16]}Z ({rolled_up})"


def _verdict(one: Facts) -> dict[str, str]:
    """Return the inference step of an indexed message: its verdict, or "indexed, not judged"."""
    if one["verdict"] is None:
        said = "indexed, not judged"
    else:
        said = f"judged {one['verdict']} at {one['confidence']:.2f} by {one['decided_by']}"
        if one["announced"]:
            said = f"{said}, announced"
        else:
            said = f"{said}, not announced: {_HELD_BACK.get(one['held_back'], 'no reason is kept')}"
    if one["detector"] is not None:
        said = f"{said} (detector {one['detector']}, epoch {one['epoch']})"
    return {
        "service": "inference",
        "record": f"message {one['message_id']}",
        "event_id": "",
        "conversation_id": one["conversation_id"],
        "outcome": said,
        "feedback": "",
        "noted_at": one["noted_at"],
    }


def _some(ids: Iterable[str]) -> Collection[str]:
    return list(dict.fromkeys(ids))[:MOST_IDS]


def _named(name: str, ids: Iterable[str]) -> Params:
    """Convert ids to query parameters named `name`, at most `MOST_IDS` of them."""
    return [(name, one) for one in _some(ids)]
