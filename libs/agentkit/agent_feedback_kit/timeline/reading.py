"""Parse artifacts that contain a reaction to an answer, in the current and older formats. No I/O.

The current format is JSON. Older artifacts contain the `repr` of a Python dict, with or without a header line. The
oldest ones are texts of a turn log. They contain no reaction and are ignored.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from agent_feedback_kit.answers import LatestItemJson
from agent_feedback_kit.sessions.record import format_time

_LIMIT = 100_000
_REACTIONS = ("ok", "not_ok", "neutral", None)


def read_reaction(text: str) -> dict[str, Any] | None:
    """Return the reaction in an artifact's text, or None if there is none. Never raises."""
    if len(text) > _LIMIT:
        return None
    start = text.find("{")
    if start < 0:
        return None
    parsed = _parsed(text[start:].strip())
    inner = parsed.get("reaction") if parsed else None
    reaction = inner if isinstance(inner, dict) else parsed
    if not reaction or "reaction" not in reaction or reaction["reaction"] not in _REACTIONS:
        return None
    return reaction


def item_of_artifact(text: str, meta: Mapping[str, Any]) -> LatestItemJson | None:
    """Convert an artifact to a timeline item.

    The feedback id is the last part of `rn`. The artifact's time is also used as the recording time. `user_id` is
    empty, because artifacts do not name the person.

    Args:
        text: The text of the artifact.
        meta: The metadata of the artifact, with the keys `rn` and `turn_id`.

    Returns:
        The item, or None if the text contains no reaction or a required field is missing.
    """
    reaction = read_reaction(text)
    rn = meta.get("rn")
    turn_id = (reaction or {}).get("turn_id") or meta.get("turn_id")
    if reaction is None or not isinstance(rn, str) or not isinstance(turn_id, str):
        return None
    ts = _in_utc(reaction.get("ts"))
    if ts is None:
        return None
    comment = reaction.get("text")
    confidence = reaction.get("confidence")
    return {
        "turn_id": turn_id,
        "turn_ts": None,
        "feedback_id": rn.rpartition(":")[2],
        "user_id": "",
        "ts": ts,
        "recorded_at": ts,
        "reaction": reaction["reaction"],
        "text": comment if isinstance(comment, str) else None,
        "confidence": float(confidence) if isinstance(confidence, int | float) and 0 <= confidence <= 1 else 1.0,
        "origin": reaction["origin"] if reaction.get("origin") in ("machine", "reviewer") else "user",
        "rn": rn,
    }


def _in_utc(value: object) -> str | None:
    """Convert a time to the format of `format_time`, because times are compared as strings.

    Returns None if the time is invalid or has no offset.
    """
    try:
        moment = datetime.fromisoformat(value) if isinstance(value, str) else None
        return format_time(moment) if moment and moment.tzinfo else None
    except (ValueError, OverflowError):
        return None


def _parsed(text: str) -> dict[str, Any] | None:
    for parse in (json.loads, ast.literal_eval):
        try:
            value = parse(text)
        except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
            continue
        return value if isinstance(value, dict) else None
    return None
