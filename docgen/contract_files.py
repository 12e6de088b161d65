"""JSON schemas, the AsyncAPI document and docs/events.md, generated from the event models."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from contracts.topics import TOPICS, Topic
from docgen.asyncapi import asyncapi
from docgen.events_page import events_page

ROOT = Path(__file__).parents[1]
CONTRACTS = ROOT / "libs" / "contracts"
SCHEMAS = CONTRACTS / "schemas"
DOCS = ROOT / "docs"


def schema_of(topic: Topic) -> str:
    """Return the text of a topic's JSON Schema file (draft 2020-12)."""
    schema = topic.event.model_json_schema(by_alias=True, mode="validation")
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema["$id"] = f"{topic.name}/v1"
    return _as_text(schema, sort_keys=True)


def files() -> dict[Path, str]:
    """Return the text of every generated file, by path."""
    schemas = {SCHEMAS / f"{topic.name}.v1.schema.json": schema_of(topic) for topic in TOPICS}
    return schemas | {CONTRACTS / "asyncapi.json": _as_text(asyncapi()), DOCS / "events.md": events_page()}


def _as_text(document: Any, *, sort_keys: bool = False) -> str:
    return json.dumps(document, indent=2, ensure_ascii=False, sort_keys=sort_keys) + "\n"
