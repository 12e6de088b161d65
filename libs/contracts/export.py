"""Exports every event's JSON Schema: `python -m contracts.export` writes them, `--check` fails if they are stale."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from contracts.topics import TOPICS, Topic

SCHEMAS = Path(__file__).parent / "schemas"


def schema_of(topic: Topic) -> str:
    """The topic's JSON Schema (draft 2020-12) as it stands in the committed file."""
    schema = topic.event.model_json_schema(by_alias=True, mode="validation")
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema["$id"] = f"{topic.name}/v1"
    return json.dumps(schema, indent=2, ensure_ascii=False, sort_keys=True) + "\n"


def file_of(topic: Topic) -> Path:
    return SCHEMAS / f"{topic.name}.v1.schema.json"


def stale() -> list[Topic]:
    """Topics whose committed schema is missing or differs from the code."""
    return [t for t in TOPICS if not file_of(t).exists() or file_of(t).read_text("utf-8") != schema_of(t)]


def main() -> int:
    if "--check" in sys.argv:
        names = [topic.name for topic in stale()]
        if names:
            sys.stderr.write(f"Schemas not up to date: {', '.join(names)}. Run `make schemas`.\n")
        return 1 if names else 0
    SCHEMAS.mkdir(exist_ok=True)
    for topic in TOPICS:
        file_of(topic).write_text(schema_of(topic), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
