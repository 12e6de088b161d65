"""Words for the types of JSON Schemas in the generated pages."""

from __future__ import annotations

from typing import Any

import pytest

from docgen.type_words import type_of


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"type": "string"}, "text"),
        ({"type": "string", "maxLength": 10_000}, "text up to 10,000"),
        ({"type": "string", "format": "date-time"}, "time"),
        ({"type": "string", "format": "uuid"}, "UUID"),
        ({"type": "string", "format": "uri"}, "text"),
        ({"type": "integer"}, "integer"),
        ({"type": "integer", "minimum": 1}, "integer, from 1"),
        ({"type": "integer", "minimum": 0, "maximum": 1_000}, "integer, from 0 to 1,000"),
        ({"type": "integer", "maximum": 2**53 - 1}, "integer, to 9,007,199,254,740,991"),
        ({"type": "integer", "maximum": 2**53}, "integer"),
        ({"type": "number", "minimum": -1, "maximum": 1}, "number, from -1 to 1"),
        ({"type": "boolean"}, "boolean"),
        ({"type": "null"}, "null"),
        ({"type": "object"}, "object"),
        ({"type": "array", "items": {"type": "string"}}, "list of text"),
        ({"type": "array", "items": {"$ref": "#/$defs/Review"}, "maxItems": 20}, "list of `Review`, up to 20"),
        ({"enum": ["ok", "not_ok", None]}, "`ok`, `not_ok`, `null`"),
        ({"const": "v1", "type": "string"}, "`v1`"),
        ({"anyOf": [{"type": "string", "maxLength": 5}, {"type": "null"}]}, "text up to 5 or null"),
        ({}, "anything"),
    ],
)
def test_a_type_in_words(schema: dict[str, Any], words: str) -> None:
    assert type_of(schema) == words
