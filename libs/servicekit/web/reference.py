"""Reference of the HTTP API, generated from the OpenAPI document as Markdown for the docs and as a page for `/docs`."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Collection, Iterator
from html import escape
from pathlib import Path
from typing import Any, Final

from contracts.type_words import type_of

_STYLE: Final = Path(__file__).with_name("reference.css").read_text("utf-8")
_SCRIPT: Final = Path(__file__).with_name("reference.js").read_text("utf-8")


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


_POLICY: Final = (
    f"default-src 'none'; style-src {_digest(_STYLE)}; script-src {_digest(_SCRIPT)}; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
PAGE_HEADERS: Final = {"Content-Security-Policy": _POLICY, "Referrer-Policy": "no-referrer"}
_HEAD: Final = "| {} | type | |\n|---|---|---|\n"


def as_markdown(document: dict[str, Any]) -> str:
    """Return the reference as Markdown, with each route's parameters, body, response and errors."""
    routes = [
        f"## `{method} {path}`\n\n{_summary(operation)}{_route(document, operation)}"
        for method, path, operation in _operations(document)
    ]
    models = [f"### `{name}`\n\n{_model(schema)}" for name, schema in _models(document).items()]
    return "\n".join(routes) + "\n## What the answers are made of\n\n" + "\n".join(models)


def reference_page(document: dict[str, Any]) -> str:
    """Return the reference as a single HTML page that loads no other files.

    Routes and models are collapsed, so the page opens as a table of contents. The script only adds the search field.
    """
    models = _models(document)
    sections: dict[str, list[str]] = {}
    for method, path, operation in _operations(document):
        body = "".join(_blocks(_route(document, operation), models))
        head = f"<code>{escape(f'{method} {path}')}</code> <span>{_inline(_summary(operation), {})}</span>"
        sections.setdefault(operation.get("tags", ["other"])[0], []).append(_folded(head, body))
    sections["models"] = [
        _folded(f"<code>{name}</code>", "".join(_blocks(_model(schema), models)), f"model-{name}")
        for name, schema in models.items()
    ]
    contents = " ".join(f"<a href='#{name}'>{name}</a> ({len(parts)})" for name, parts in sections.items())
    body = "".join(
        f"<section id='{name}'><h2>{name}</h2>{''.join(parts)}</section>" for name, parts in sections.items()
    )
    return (
        "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content='width=device-width'>"
        f"<title>agent-feedback: HTTP reference</title><style>{_STYLE}</style><h1>HTTP reference</h1>"
        "<p>Open a route for its parameters, body and answers. For programs: <a href=/openapi.json>openapi.json</a>, "
        "and for the topics <a href=/asyncapi.json>asyncapi.json</a>.</p>"
        "<p class=search hidden><label>Search <input type=search></label> <output></output></p>"
        f"<nav aria-label=Contents>{contents}</nav>{body}<script>{_SCRIPT}</script></html>"
    )


def _folded(head: str, body: str, anchor: str = "") -> str:
    """Return a collapsed entry of the page.

    The anchor is inside the collapsed part, so that a link to it expands the entry.
    """
    named = f" id='{anchor}'" if anchor else ""
    return f"<details><summary>{head}</summary><div{named}>{body}</div></details>"


def _operations(document: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            yield method.upper(), path, operation


def _summary(operation: dict[str, Any]) -> str:
    return f"{operation['summary'].rstrip('.')}."


def _route(document: dict[str, Any], operation: dict[str, Any]) -> str:
    """Return the description of a route in Markdown, without its summary."""
    text = " ".join(operation.get("description", "").split())
    parts = [f" {text}\n" if text else "\n"]
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


def _models(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the schemas of responses and of the objects nested in them, sorted by name."""
    schemas = document.get("components", {}).get("schemas", {})
    return {name: schema for name, schema in sorted(schemas.items()) if _is_shown(document, name)}


def _model(schema: dict[str, Any]) -> str:
    text = " ".join(schema.get("description", "").split())
    return (f"{text}\n\n" if text else "") + _HEAD.format("field") + _fields(schema)


def _is_shown(document: dict[str, Any], name: str) -> bool:
    """Return True if a model is used in responses. Models of request bodies are documented with their routes."""
    schema = document["components"]["schemas"][name]
    return "properties" in schema and not name.endswith("Body")


def _followed(document: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    if "$ref" not in schema:
        return schema
    found: dict[str, Any] = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    return found


def _fields(schema: dict[str, Any]) -> str:
    required = set(schema.get("required", ()))
    return "".join(_row(name, field, name in required) for name, field in schema["properties"].items())


def _row(name: str, field: dict[str, Any], required: bool) -> str:
    meaning = " ".join(field.get("description", "").split()).replace("|", "\\|")
    return f"| `{name}` | {type_of(field)}{'' if required else ', optional'} | {meaning} |\n"


def _blocks(markdown: str, models: Collection[str]) -> Iterator[str]:
    """Convert the Markdown that this module generates to HTML, with links for the names in `models`."""
    for block in re.split(r"\n\n+|\n(?=\|)(?<!\|\n)", markdown.strip()):
        lines = block.strip().splitlines()
        if not lines:
            continue
        if lines[0].startswith("|"):
            head, _, *rows = lines
            yield f"<table>{_row_of(head, 'th', models)}{''.join(_row_of(row, 'td', models) for row in rows)}</table>"
        else:
            yield f"<p>{_inline(' '.join(lines), models)}</p>"


def _row_of(line: str, cell: str, models: Collection[str]) -> str:
    texts = re.split(r"(?<!\\)\|", line)[1:-1]
    return "<tr>" + "".join(f"<{cell}>{_inline(text.strip(), models)}</{cell}>" for text in texts) + "</tr>"


def _inline(text: str, models: Collection[str]) -> str:
    def code(found: re.Match[str]) -> str:
        name = found[1]
        return f"<a href='#model-{name}'><code>{name}</code></a>" if name in models else f"<code>{name}</code>"

    return re.sub(r"`([^`]*)`", code, escape(text.replace("\\|", "|")))
