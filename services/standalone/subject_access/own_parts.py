"""Extraction of one person's data from an event or object, without other people's words. No I/O.

The data includes agents' answers, which give meaning to replies and verdicts, and the ids of conversations and turns.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from contracts.erasure import Person
from contracts.instants import LAST, format_instant

_WRITERS: Final = (*("senderId", "authorId", "userId", "replySenderId", "reactionUserId", "userIdOrNull"),)
"""Event fields with the id of the person who caused the event, or whom it is about."""
_TYPES: Final = {"senderId": "senderType", "authorId": "authorType"}
"""Field with the type (person or agent) of an id, by the name of the id's field."""
_EARLIEST: Final = 10**14
"""Smallest number that is treated as a time in microseconds (March 1973)."""


def own_event(event: object, person: Person) -> Mapping[str, Any] | None:
    """Return the data in an event that belongs to the person, or None if there is none.

    If the person caused the event or is its subject, this is the whole event except a copy of another person's message.
    If the person only wrote the copied message, it is only that copy.

    Args:
        event: Any value that a record may contain.
    """
    if not isinstance(event, Mapping) or event.get("tenant") != person.tenant:
        return None
    original = event.get("original")
    own = original if isinstance(original, Mapping) and _names(original, person) else None
    if _names(event, person):
        rest = {name: value for name, value in event.items() if name != "original"}
        is_of_person = isinstance(original, Mapping) and original.get("senderType") != "agent"
        return rest | ({"original": original} if original is not None and (own or not is_of_person) else {})
    return None if own is None else {"original": own}


def _names(event: Mapping[str, Any], person: Person) -> bool:
    return any(
        _as_id(event.get(name)) == person.user_id and event.get(_TYPES.get(name, "")) != "agent" for name in _WRITERS
    )


def _as_id(value: object) -> object:
    """Return an id in the form in which events are parsed: a number becomes a string of digits."""
    return str(value) if type(value) is int else value


def own_object(body: Mapping[str, Any], artifact: Mapping[str, Any], person: Person) -> Mapping[str, Any]:
    """Return the data in a stored object that belongs to the person.

    For the log of a turn, this is the person's feedback, plus the question and answer if the person asked the question.

    Args:
        artifact: Database row of the object.
    """
    if "turn_log" not in body:
        return body
    feedbacks = [
        feedback
        for feedback in body.get("feedbacks", ())
        if _is_own_artifact(str(feedback.get("rn")), artifact, person)
    ]
    exchange = {name: body[name] for name in ("turn_log", "conversation_id", "bundle_id") if name in body}
    return {**(exchange if artifact["is_own"] else {}), "feedbacks": feedbacks}


def _is_own_artifact(name: str, artifact: Mapping[str, Any], person: Person) -> bool:
    return name.startswith(f"ef:{person.tenant}:{artifact['project']}:{person.user_id}:{artifact['conversation_id']}:")


def readable(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a table row with its times in RFC 3339 instead of microseconds."""
    return {name: _time(name, value) for name, value in row.items()}


def _time(name: str, value: Any) -> Any:
    is_time = (name == "at" or name.endswith(("_at", "_time", "start"))) and type(value) is int
    return format_instant(value) if is_time and _EARLIEST <= value <= LAST else value
