"""The AsyncAPI document, generated from the topic table and the event models."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pydantic.json_schema import models_json_schema

from contracts.topics import FOREVER, KAFKA_PARTITIONS, TOPICS, Topic

CONTRACTS = Path(__file__).parents[1] / "libs" / "contracts"
DESCRIPTION = (
    "Events that chat services and forums send, and that learners read. Records are JSON in UTF-8. Readers ignore "
    "unknown fields. A duplicate of an event changes nothing."
)


def asyncapi() -> dict[str, Any]:
    """Return the AsyncAPI 3.0 document.

    It contains a channel for each topic, and an operation for each producer and each consumer group.
    """
    schemas = models_json_schema(
        [(topic.event, "validation") for topic in TOPICS], by_alias=True, ref_template="#/components/schemas/{model}"
    )[1]["$defs"]
    return {
        "asyncapi": "3.0.0",
        "info": {"title": "agent-feedback", "version": "1.0.0", "description": DESCRIPTION},
        "defaultContentType": "application/json",
        "channels": {topic.name: _channel(topic) for topic in TOPICS},
        "operations": {name: operation for topic in TOPICS for name, operation in _operations(topic)},
        "components": {"messages": {_name(topic): _message(topic) for topic in TOPICS}, "schemas": schemas},
    }


def examples_of(topic: Topic) -> list[tuple[str, Any]]:
    """Return the example messages for a topic as pairs of name and content, sorted by name."""
    return sorted(json.loads((CONTRACTS / "examples.json").read_text("utf-8"))[topic.name].items())


def _name(topic: Topic) -> str:
    return topic.event.__name__


def _channel(topic: Topic) -> dict[str, Any]:
    config = {"cleanup.policy": ["compact" if topic.compacted else "delete"], "retention.ms": topic.retention_ms}
    return {
        "address": topic.name,
        "description": f"{topic.meaning[0].upper()}{topic.meaning[1:]}.",
        "messages": {_name(topic): {"$ref": f"#/components/messages/{_name(topic)}"}},
        "bindings": {
            "kafka": {"topic": topic.name, "partitions": KAFKA_PARTITIONS, "topicConfiguration": config},
        },
    }


def _operations(topic: Topic) -> list[tuple[str, dict[str, Any]]]:
    channel = {"$ref": f"#/channels/{topic.name}"}
    sender = topic.producer.replace(" ", "_")
    sent = {"action": "send", "channel": channel, "summary": f"Written by {topic.producer}."}
    received = [
        (
            f"{group}.receives.{topic.name}",
            {
                "action": "receive",
                "channel": channel,
                "bindings": {"kafka": {"groupId": {"type": "string", "const": group}}},
            },
        )
        for group in topic.consumers
    ]
    return [(f"{sender}.sends.{topic.name}", sent), *received]


def _message(topic: Topic) -> dict[str, Any]:
    kept = "forever" if topic.retention_ms == FOREVER else f"for {topic.retention_ms // 86_400_000} days"
    only = ", the last record of each key" if topic.compacted else ""
    return {
        "name": _name(topic),
        "title": topic.name,
        "summary": (topic.event.__doc__ or "").partition("\n")[0],
        "description": f"Kept {kept}{only}.",
        "contentType": "application/json",
        "payload": {"$ref": f"#/components/schemas/{_name(topic)}"},
        "bindings": {"kafka": {"key": {"type": "string", "description": topic.key_name}}},
        "examples": [{"name": name, "payload": payload} for name, payload in examples_of(topic)],
    }


def files() -> dict[Path, str]:
    """Return the text of the document, by path."""
    return {CONTRACTS / "asyncapi.json": json.dumps(asyncapi(), indent=2, ensure_ascii=False) + "\n"}
