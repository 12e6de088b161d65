"""Texts in the requests of the HTTP API: PostgreSQL stores no NUL character, so a text that is stored excludes it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from docgen.client_types import openapi

LIMITS = {"enum", "const", "format"}
NOT_STORED = {
    "/conversations/{tenant}/{project}/refused?since",
    "/conversations/{tenant}/{project}/feedback/conversations-in-period.cursor",
    "/conversations/{tenant}/{project}/feedback/search.cursor",
    "/conversations/{tenant}/{project}/{conversation_id}/turns-with-feedbacks.cursor",
    "/conversations/{tenant}/{project}/{conversation_id}/feedback/latest.cursor",
    "/conversations/{tenant}/{project}/{conversation_id}/feedback/latest.watermark",
    "/ingest/{tenant}/{project}/events",
    "/sources/webhooks/{source}?source",
}
"""Texts that are decoded, parsed or looked up in the settings before any database sees them."""


def _free_texts(schema: Any, place: str, schemas: dict[str, Any]) -> Iterator[str]:
    """Yield the path of each text in `schema` that may contain NUL."""
    if reference := schema.get("$ref"):
        schema = schemas[reference.rpartition("/")[2]]
    for choice in (*schema.get("anyOf", ()), *schema.get("oneOf", ()), *schema.get("prefixItems", ())):
        yield from _free_texts(choice, place, schemas)
    for name, field in schema.get("properties", {}).items():
        yield from _free_texts(field, f"{place}.{name}", schemas)
    for name in ("items", "additionalProperties", "propertyNames"):
        if isinstance(schema.get(name), dict):
            yield from _free_texts(schema[name], f"{place}.{name}", schemas)
    is_free = schema.get("type") == "string" and not LIMITS & schema.keys()
    if is_free and re.search(schema.get("pattern", ""), "a\0a"):
        yield place


def free_texts(document: dict[str, Any]) -> set[str]:
    """Return the path of each text in a request of the OpenAPI document that may contain NUL."""
    schemas = document["components"]["schemas"]
    found = set[str]()
    for path, methods in document["paths"].items():
        for route in methods.values():
            for content in route.get("requestBody", {}).get("content", {}).values():
                found.update(_free_texts(content["schema"], path, schemas))
            for parameter in route.get("parameters", ()):
                found.update(_free_texts(parameter["schema"], f"{path}?{parameter['name']}", schemas))
    return found


def test_texts_of_requests_exclude_nul() -> None:
    assert free_texts(openapi()) == NOT_STORED
