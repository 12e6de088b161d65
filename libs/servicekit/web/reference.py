"""The HTTP reference, generated from the OpenAPI document: as Markdown for the docs, as a page for `/docs`."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterator
from html import escape
from typing import Any, Final

from contracts.events_page import type_of

_STYLE: Final = """
:root { color-scheme: light dark; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h2 { margin-top: 2.5rem; font-size: 1.05rem; overflow-wrap: anywhere; }
table { border-collapse: collapse; width: 100%; margin: .5rem 0 1rem; }
th, td { text-align: left; vertical-align: top; padding: .25rem .75rem .25rem 0; border-bottom: 1px solid #8884; }
code { font-family: ui-monospace, monospace; font-size: .92em; }
"""
_POLICY: Final = (
    f"default-src 'none'; style-src 'sha256-{base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()}'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
PAGE_HEADERS: Final = {"Content-Security-Policy": _POLICY, "Referrer-Policy": "no-referrer"}
_HEAD: Final = "| {} | type | |\n|---|---|---|\n"


def as_markdown(document: dict[str, Any]) -> str:
    """Return every route with its parameters, body, response and errors."""
    routes = [_route(document, *place) for place in _operations(document)]
    schemas = document.get("components", {}).get("schemas", {})
    models = {name: schema for name, schema in schemas.items() if _is_shown(document, name)}
    parts = [_model(document, name, schema) for name, schema in sorted(models.items())]
    return "\n".join(routes) + "\n## What the answers are made of\n\n" + "\n".join(parts)


def reference_page(document: dict[str, Any]) -> str:
    """Return the reference as a page that loads no other resource."""
    body = "".join(_blocks(as_markdown(document)))
    return (
        f"<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content='width=device-width'>"
        f"<title>agent-feedback: HTTP reference</title><style>{_STYLE}</style><h1>HTTP reference</h1>"
        f"<p>The same for machines: <a href=/openapi.json>openapi.json</a>, "
        f"<a href=/asyncapi.json>asyncapi.json</a> (the topics).</p>{body}</html>"
    )


def _operations(document: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            yield method.upper(), path, operation


def _route(document: dict[str, Any], method: str, path: str, operation: dict[str, Any]) -> str:
    text = " ".join(operation.get("description", "").split())
    parts = [f"## `{method} {path}`\n\n{operation['summary']}.{' ' + text if text else ''}\n"]
    asked = [parameter for parameter in operation.get("parameters", ()) if parameter["in"] == "query"]
    if asked:
        rows = [_row(one["name"], {**one["schema"], **one}, one.get("required", False)) for one in asked]
        parts.append(_HEAD.format("in the query") + "".join(rows))
    for media_type, content in operation.get("requestBody", {}).get("content", {}).items():
        schema = _followed(document, content.get("schema", {}))
        if "properties" in schema:
            parts.append(_HEAD.format("in the body") + _fields(schema))
        else:
            parts.append(f"The body is `{media_type}`.\n")
    answers = [f"| {status} | {_answer(answer)} |\n" for status, answer in operation["responses"].items()]
    parts.append("| status | |\n|---|---|\n" + "".join(answers))
    return "\n".join(parts)


def _answer(answer: dict[str, Any]) -> str:
    schemas = [content["schema"] for content in answer.get("content", {}).values() if content.get("schema")]
    given = [type_of(schema) for schema in schemas if "$ref" in schema and not schema["$ref"].endswith("/Refusal")]
    return f"{answer['description'].rstrip('.')}: {given[0]}" if given else str(answer["description"])


def _model(document: dict[str, Any], name: str, schema: dict[str, Any]) -> str:
    text = " ".join(schema.get("description", "").split())
    head = f"### `{name}`\n\n" + (f"{text}\n\n" if text else "")
    return head + _HEAD.format("field") + _fields(schema)


def _is_shown(document: dict[str, Any], name: str) -> bool:
    """Return True if a model is a response or a part of one; bodies are shown at their routes."""
    schema = document["components"]["schemas"][name]
    return "properties" in schema and not name.endswith("Body")


def _followed(document: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    if "$ref" not in schema:
        return schema
    found: dict[str, Any] = document["components"]["schemas"][schema["$ref"].rsplit("/", 1)[-1]]
    return found


def _fields(schema: dict[str, Any]) -> str:
    required = set(schema.get("required", ()))
    return "".join(_row(name, field, name in required) for name, field in schema["properties"].items())


def _row(name: str, field: dict[str, Any], required: bool) -> str:
    meaning = " ".join(field.get("description", "").split()).replace("|", "\\|")
    return f"| `{name}` | {type_of(field)}{'' if required else ', optional'} | {meaning} |\n"


def _blocks(markdown: str) -> Iterator[str]:
    """Convert the kinds of Markdown that are generated above to HTML."""
    for block in re.split(r"\n\n+|\n(?=\|)(?<!\|\n)", markdown.strip()):
        lines = block.strip().splitlines()
        if not lines:
            continue
        if lines[0].startswith("#"):
            level = lines[0].index(" ")
            yield f"<h{level}>{_inline(lines[0][level + 1 :])}</h{level}>"
        elif lines[0].startswith("|"):
            yield "<table>" + "".join(_table_row(line) for line in lines if not line.startswith("|---")) + "</table>"
        else:
            yield f"<p>{_inline(' '.join(lines))}</p>"


def _table_row(line: str) -> str:
    cells = re.split(r"(?<!\\)\|", line)[1:-1]
    return "<tr>" + "".join(f"<td>{_inline(cell.strip())}</td>" for cell in cells) + "</tr>"


def _inline(text: str) -> str:
    return re.sub(r"`([^`]*)`", r"<code>\1</code>", escape(text.replace("\\|", "|")))
