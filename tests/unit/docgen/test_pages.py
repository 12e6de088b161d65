"""Pages of the site keep their links: to pages relatively, to other files of the repository by its address."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Any

import pytest

from docgen.site import REPOSITORY, _linked, navigation
from docgen.type_words import type_of

PLACES = {
    PurePosixPath("README.md"): PurePosixPath("index.md"),
    PurePosixPath("docs/http.md"): PurePosixPath("docs/http.md"),
    PurePosixPath("docs/decisions/0001-x.md"): PurePosixPath("docs/decisions/0001-x.md"),
}


def linked(text: str, file: str = "docs/http.md") -> str:
    return _linked(text, PurePosixPath(file), PLACES)


def test_a_link_to_the_readme_leads_to_the_first_page() -> None:
    assert linked("[a](../README.md#try-it)") == "[a](../index.md#try-it)"
    assert linked("[a](../../README.md)", "docs/decisions/0001-x.md") == "[a](../../index.md)"


def test_a_link_between_pages_stays() -> None:
    assert linked("[a](decisions/0001-x.md) [b](#c)") == "[a](../docs/decisions/0001-x.md) [b](#c)"


def test_a_link_to_a_source_file_leads_to_the_repository() -> None:
    assert linked("[a](../examples/issuer.py)") == f"[a]({REPOSITORY}examples/issuer.py)"


def test_links_to_nothing_are_left_for_the_build_to_name() -> None:
    assert linked("[a](nowhere.md)") == "[a](nowhere.md)"


def test_addresses_pictures_and_code_are_left() -> None:
    text = "[a](https://x.example) ![p](pictures/flow.svg) `[b](../LICENSE)`\n```\n[c](../LICENSE)\n```\n"
    assert linked(text) == text


def test_the_navigation_lists_each_page_once_per_section() -> None:
    how_to = "| [a](a.md#x), [a](a.md) | [r](../README.md) |"
    index = f"# D\n\n## How-to: do\n\n{how_to}\n\n## Reference\n\n[b](../b/c.md) [d](../d.py)"
    assert navigation(index) == '  { "How-to" = ["docs/a.md"] },\n  { "Reference" = ["b/c.md"] },\n'


# Words for the types of JSON Schemas in the generated pages.


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
