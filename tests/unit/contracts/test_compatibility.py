"""Changes of a schema that reject messages which were valid before, one row per kind of change."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from tests.support.compatibility import facts_of, incompatibilities

Part = Mapping[str, Any]
TEXT: Part = {"type": "string"}
CHOICE: Part = {"enum": ["", "ok", "x-1"]}


def schema(field: Part | None, *, required: bool = False) -> dict[str, Any]:
    """Return an event's schema with one field `a`."""
    return {
        "type": "object",
        "properties": {} if field is None else {"a": field},
        "required": ["a"] if required else [],
        "$defs": {"Text": TEXT, "Row": {"type": "object", "properties": {"n": TEXT}, "required": ["n"]}},
    }


def broken(before: Part | None, after: Part | None, **given: bool) -> list[str]:
    return incompatibilities(facts_of(schema(before)), facts_of(schema(after, **given)))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (None, TEXT),
        (TEXT, TEXT),
        (TEXT, {"anyOf": [TEXT, {"type": "null"}]}),
        (TEXT, {"anyOf": [{"$ref": "#/$defs/Text"}, {"type": "null"}]}),
        ({"type": "string", "maxLength": 5}, {"type": "string", "maxLength": 5}),
        ({"type": "string", "maxLength": 5}, {"type": "string", "maxLength": 6}),
        ({"type": "string", "maxLength": 5}, TEXT),
        ({"type": "string", "minLength": 2}, {"type": "string", "minLength": 1}),
        (TEXT, {"type": "string", "minimum": 3}),
        ({"type": "string", "pattern": "^a$"}, TEXT),
        ({"enum": ["ok"]}, {"enum": ["ok", "no"]}),
        ({"type": "string", "const": "ok"}, {"type": "string", "enum": ["no", "ok"]}),
        ({"const": "ok", "type": "string"}, {"const": "ok", "type": "string", "minLength": 3}),
        ({"type": "string", "pattern": r"^[^\x00]*[^\x00\s][^\x00]*$"}, {"type": "string", "pattern": r"^[^\x00]*$"}),
    ],
)
def test_a_wider_or_an_equal_schema_is_compatible(before: Part | None, after: Part) -> None:
    assert broken(before, after) == []


@pytest.mark.parametrize(
    ("before", "after", "sentence"),
    [
        (TEXT, None, "a was removed"),
        (TEXT, {"type": "integer"}, "a no longer accepts ['string']"),
        ({"type": "string", "maxLength": 5}, {"type": "string", "maxLength": 4}, "a: maxLength is tighter"),
        (TEXT, {"type": "string", "minLength": 1}, "a: minLength is tighter"),
        ({"type": "integer", "minimum": 0}, {"type": "integer", "minimum": 1}, "a: minimum is tighter"),
        ({"type": "number"}, {"type": "number", "maximum": 1}, "a: maximum is tighter"),
        (TEXT, {"type": "string", "enum": ["ok"]}, "a no longer accepts all of its choices"),
        ({"enum": ["no", "ok"]}, {"enum": ["ok"]}, "a no longer accepts all of its choices"),
        (TEXT, {"type": "string", "pattern": "^a$"}, "a: its pattern changed"),
        (
            {"type": "string", "pattern": r"^[^\x00]*$"},
            {"type": "string", "pattern": r"^[^\x00]*[^\x00\s][^\x00]*$"},
            "a: its pattern changed",
        ),
        ({"type": "array", "items": TEXT}, {"type": "array", "items": {"type": "integer"}}, "a[] no longer accepts"),
        (
            {"type": "object", "additionalProperties": TEXT},
            {"type": "object", "additionalProperties": {"type": "string", "maxLength": 1}},
            "a{}: maxLength is tighter",
        ),
    ],
)
def test_a_narrower_schema_names_the_field_and_the_change(before: Part, after: Part | None, sentence: str) -> None:
    assert [one for one in broken(before, after) if one.startswith(sentence)]


@pytest.mark.parametrize(
    ("limits", "is_taken"),
    [
        ({}, True),
        ({"minLength": 1}, False),
        ({"minLength": 0, "maxLength": 3}, True),
        ({"maxLength": 2}, False),
        ({"pattern": "^[a-z0-9-]*$"}, True),
        ({"pattern": "^[a-z0-9]*$"}, False),
        ({"pattern": "^[a-z0-9-]+$"}, False),
    ],
)
def test_a_text_in_place_of_choices_accepts_each_of_them(limits: Part, is_taken: bool) -> None:
    found = broken({"type": "string", **CHOICE}, {"type": "string", **limits})
    assert found == ([] if is_taken else ["a no longer accepts all of its choices"])


def test_only_a_field_of_a_known_object_can_be_added_as_required() -> None:
    assert broken(None, TEXT, required=True) == ["a was added as a required field"]
    assert broken(TEXT, TEXT, required=True) == ["a is now required"]
    row = {"$ref": "#/$defs/Row"}
    assert broken(None, row) == [], "the required field belongs to an object that is optional"
    bare = {"type": "object"}
    wrapped: list[tuple[Part, Part]] = [
        (bare, row),
        ({"type": "array", "items": bare}, {"type": "array", "items": row}),
        ({**bare, "additionalProperties": bare}, {**bare, "additionalProperties": row}),
    ]
    for before, after in wrapped:
        assert [one for one in broken(before, after) if one.endswith("was added as a required field")], after


def test_every_field_is_compared() -> None:
    def facts(*limits: int) -> dict[str, dict[str, Any]]:
        fields = {f"a{number}": {"type": "string", "maxLength": limit} for number, limit in enumerate(limits)}
        return facts_of({"properties": {**fields, "b": CHOICE, "c": CHOICE}, "required": ["a0"]})

    assert incompatibilities(facts(*[5] * 9), facts(*[5] * 9)) == []
    tighter = [f"a{number}: maxLength is tighter" for number in range(9)]
    assert incompatibilities(facts(*[5] * 9), facts(*[4] * 9)) == tighter


def test_facts_of_choices_are_texts_in_order_and_every_level_has_a_path() -> None:
    facts = facts_of(schema({"type": "object", "properties": {"b": {"type": "array", "items": {"enum": [2, 1]}}}}))
    assert list(facts) == ["a.b[]", "a.b", "a"]
    assert facts["a.b[]"] == {"required": False, "types": ["any"], "choices": ["1", "2"]}
    assert facts_of(schema(TEXT, required=True))["a"]["required"]
