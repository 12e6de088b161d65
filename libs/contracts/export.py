"""Export of the files that are generated from the models: JSON schemas, docs/asyncapi.json and docs/events.md.

`python -m contracts.export` writes them, `--check` fails if they are stale.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from contracts.asyncapi import asyncapi
from contracts.events_page import events_page
from contracts.topics import TOPICS, Topic

SCHEMAS = Path(__file__).parent / "schemas"
DOCS = Path(__file__).parents[2] / "docs"


def schema_of(topic: Topic) -> str:
    """Return the topic's JSON Schema (draft 2020-12) as the text of its file."""
    schema = topic.event.model_json_schema(by_alias=True, mode="validation")
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema["$id"] = f"{topic.name}/v1"
    return _as_text(schema, sort_keys=True)


def exported() -> dict[Path, str]:
    """Return the content of every exported file."""
    schemas = {SCHEMAS / f"{topic.name}.v1.schema.json": schema_of(topic) for topic in TOPICS}
    return schemas | {DOCS / "asyncapi.json": _as_text(asyncapi()), DOCS / "events.md": events_page()}


def stale() -> list[str]:
    """Return the names of exported files that are missing or outdated."""
    return [file.name for file, text in exported().items() if not file.exists() or file.read_text("utf-8") != text]


def main() -> int:
    if "--check" in sys.argv:
        if names := stale():
            sys.stderr.write(f"Not up to date: {', '.join(names)}. Run `make docs`.\n")
            return 1
        return 0
    for file, text in exported().items():
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, "utf-8")
    return 0


def _as_text(document: Any, *, sort_keys: bool = False) -> str:
    return json.dumps(document, indent=2, ensure_ascii=False, sort_keys=sort_keys) + "\n"


if __name__ == "__main__":
    sys.exit(main())
