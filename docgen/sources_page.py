"""Generator of the reference in docs/sources.md, from the registry of sources."""

from __future__ import annotations

import inspect
import json
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from chat_bridge.settings import ChatBridgeSettings
from chat_bridge.sources.registry import SOURCES
from chat_bridge.sources.webhook_map import AttachmentPart, MapAnswer, Rule, Signature, WebhookMap
from docgen.events_page import type_of

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "sources.md"
EXAMPLES = ROOT / "examples" / "webhooks"
MARK = "<!-- Everything below is made from the registry of sources by `make docs`. -->\n"
SECTIONS: tuple[tuple[str, type[BaseModel]], ...] = (
    ("The head of a map", WebhookMap),
    ("[signature]", Signature),
    ("[[rule]]", Rule),
    ("A table of `attachments`", AttachmentPart),
    ("[[answer]]", MapAnswer),
)


def reference() -> str:
    """Return the routes and settings of all sources, the keys of webhook maps, and the maps in examples/webhooks."""
    parts = ["## Addresses and settings\n"]
    prefix = str(ChatBridgeSettings.model_config["env_prefix"])
    for kind in SOURCES:
        parts.append(f"`POST {kind.path.replace(':segment', '')}`: {kind.summary}.\n")
        parts.append(_table(kind.settings, "setting", lambda name: f"{prefix}{name}".upper()))
    for title, model in SECTIONS:
        parts.append(f"## {title}\n\n{inspect.getdoc(model)}\n")
        parts.append(_table(model, "key", lambda name: name))
    parts.append("## Maps in examples/webhooks\n")
    parts.append("| map | signature | secret | from |\n|---|---|---|---|\n" + "".join(_examples()))
    return "\n".join(parts)


def _table(model: type[BaseModel], head: str, named: Any) -> str:
    schema = model.model_json_schema(mode="validation")
    rows = [f"| {head} | type | default | |\n|---|---|---|---|\n"]
    for name, field in model.model_fields.items():
        shown = "needed" if field.is_required() else _as_toml(field.get_default(call_default_factory=True))
        described = schema["properties"][name]
        rows.append(f"| `{named(name)}` | {_type(described)} | {shown} | {field.description or ''} |\n")
    return "".join(rows)


def _type(schema: dict[str, Any]) -> str:
    """Return a key's type in TOML."""
    [one] = [option for option in schema.get("anyOf", [schema]) if option.get("type") != "null"]
    if "enum" in one:
        return ", ".join(f"`{option}`" for option in one["enum"])
    if "$ref" in one or one.get("type") == "object":
        return "table"
    if one.get("type") == "array":
        return "path, or list of paths" if one["items"].get("format") == "path" else "list of tables"
    return "path" if one.get("format") == "path" else type_of(one)


def _as_toml(value: Any) -> str:
    return "" if value is None or value in ([], {}, "") else f"`{json.dumps(value)}`"


def _examples() -> Iterator[str]:
    for path in sorted(EXAMPLES.glob("*.toml")):
        text = path.read_text("utf-8")
        signature = tomllib.loads(text)["signature"]
        description = text.partition("\n")[0].removeprefix("# ").rstrip(".")
        link = f"[{path.stem}](../examples/webhooks/{path.name})"
        yield f"| {link} | {signature['kind']} | `{signature['secret']}` | {description} |\n"


def files() -> dict[Path, str]:
    """Return the text of the page, with its generated part, by path."""
    return {PAGE: PAGE.read_text("utf-8").partition(MARK)[0] + MARK + "\n" + reference()}
