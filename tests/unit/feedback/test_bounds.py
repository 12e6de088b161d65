"""Every accepted event can be announced: an event at all limits of its contract fits into `feedback.created`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from pydantic import TypeAdapter

from contracts.base import Envelope
from contracts.feedback import (
    FeedbackExplicitReceived,
    FeedbackInferredReceived,
    FeedbackReactionReceived,
    FeedbackReplyReceived,
)
from contracts.topics import FEEDBACK_CREATED
from feedback.announce import message_of
from feedback.merge import merge, revise
from feedback.model import Change
from feedback.reward import change_of

RULES = 200
"""More elements than any list without its own limit has."""

TOLD = {"emoji": "👍", "agentId": "a" * 256, "worstRating": 0}
"""Values that depend on others: an emoji with a reward, an agent that is not the person, and two ends of a scale."""


def widest(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Any:
    """Return the largest value that `schema` allows; of a choice the first value that is not null."""
    if "$ref" in schema:
        return widest(root["$defs"][schema["$ref"].rsplit("/", 1)[-1]], root)
    if "anyOf" in schema:
        return widest(next(branch for branch in schema["anyOf"] if branch.get("type") != "null"), root)
    if "const" in schema or "enum" in schema:
        return schema.get("const", schema.get("enum", [None])[0])
    match schema.get("type"):
        case "object":
            return {name: widest(child, root) for name, child in schema.get("properties", {}).items()}
        case "array":
            return [widest(schema["items"], root)] * schema.get("maxItems", RULES)
        case "integer" | "number":
            return schema.get("maximum", 1)
        case "boolean":
            return True
        case _ if schema.get("format") == "date-time":
            return "2026-06-01T12:00:00Z"
        case _ if "64}" in schema.get("pattern", ""):
            return "s" * 64
        case _ if "31}" in schema.get("pattern", ""):
            return "s" * 32
    return "i" * schema.get("maxLength", 64)


@pytest.mark.parametrize(
    "model", [FeedbackReplyReceived, FeedbackReactionReceived, FeedbackExplicitReceived, FeedbackInferredReceived]
)
def test_the_widest_event_can_be_announced(model: type[Envelope]) -> None:
    schema = TypeAdapter(model).json_schema(by_alias=True)
    found = {name: value for name, value in TOLD.items() if name in schema["properties"]}
    wide = widest(schema, schema) | found
    event = model.model_validate_json(json.dumps(wide), by_alias=True, by_name=False)
    change = change_of(event)
    assert isinstance(change, Change), change
    value = message_of(revise(merge(None, change), 1_790_000_000_000_000)).value
    assert value is not None
    FEEDBACK_CREATED.event.model_validate_json(value)
