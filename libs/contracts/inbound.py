"""Field types for events from chat services.

Each type accepts several spellings of a value and normalises them, so that all services read and store the same value.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Final

from pydantic import (
    BeforeValidator,
    GetCoreSchemaHandler,
    PlainSerializer,
    StringConstraints,
    ValidationInfo,
    WithJsonSchema,
)
from pydantic_core import CoreSchema, core_schema

from contracts.base import CONTENT_LIMIT, ID_LIMIT, ID_PATTERN, Id, Label
from contracts.instants import LAST, format_instant, parse_loose_instant
from contracts.sources import COMMENT_PREFIX

OPTIONAL_PATTERN: Final = r"^[^\x00-\x1f\x7f-\x9f]*$"
_EARLIEST_MS: Final = 100_000_000_000
"""3 March 1973 in epoch milliseconds. Smaller numbers are rejected, because they are probably epoch seconds."""
_LAST_MS: Final = LAST // 1_000


def _instant(value: object, info: ValidationInfo) -> int:
    if isinstance(value, str):
        return parse_loose_instant(value)
    if info.mode == "python" and type(value) is int and 0 <= value <= LAST:
        return value
    # The comparison is also False for NaN.
    if isinstance(value, int | float) and type(value) is not bool and _EARLIEST_MS <= value <= _LAST_MS:
        return round(value * 1_000)
    raise ValueError("a time must be RFC 3339 with an offset, or a number of epoch milliseconds")


def _digits(limit: int) -> CoreSchema:
    """Return the schema of an integer that is converted to a text of at most `limit` decimal digits."""

    def digits(value: int) -> str:
        text = str(value)
        if len(text) > limit:
            raise ValueError
        return text

    return core_schema.no_info_after_validator_function(digits, core_schema.int_schema(strict=True))


def _expected_id(limit: int) -> str:
    return f"must be an integer, or a text of 1 to {limit} characters without control characters"


def _id_types(limit: int) -> list[dict[str, Any]]:
    return [
        {"type": "string", "minLength": 1, "maxLength": limit, "pattern": ID_PATTERN},
        {"type": "integer"},
    ]


@dataclass(frozen=True, slots=True)
class _Or:
    """Validator that accepts alternative spellings of a value, in addition to the usual one.

    Values in the usual spelling are handled by pydantic's compiled code alone, which is faster.
    """

    others: tuple[CoreSchema, ...]
    expected: str

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        choices: list[CoreSchema | tuple[CoreSchema, str]] = [handler(source), *self.others]
        return core_schema.union_schema(
            choices, mode="left_to_right", custom_error_type=SPELLING, custom_error_message=self.expected
        )


SPELLING: Final = "spelling"
"""Type of the validation error for a value that matches no spelling of its field. The message omits the value."""
_EMPTY: Final = core_schema.no_info_after_validator_function(lambda _: None, core_schema.literal_schema([""]))
_BLANK: Final = core_schema.no_info_after_validator_function(
    lambda _: "", core_schema.str_schema(max_length=CONTENT_LIMIT, pattern=r"^\s*$")
)
_OPTIONAL: Final = [{"type": "string", "maxLength": ID_LIMIT, "pattern": OPTIONAL_PATTERN}, {"type": "integer"}]

ProducerInstant = Annotated[
    int,
    BeforeValidator(_instant),
    PlainSerializer(format_instant, return_type=str, when_used="json"),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "string", "format": "date-time"},
                {"type": "number", "minimum": _EARLIEST_MS, "maximum": _LAST_MS},
            ]
        }
    ),
]
"""Time in integer microseconds since the epoch. In JSON, it is a number of epoch milliseconds or an RFC 3339 text; the
text may have a space instead of `T`, no seconds, and an offset without a colon."""
ProducerId = Annotated[
    Id, _Or((_digits(ID_LIMIT),), _expected_id(ID_LIMIT)), WithJsonSchema({"anyOf": _id_types(ID_LIMIT)})
]
"""An `Id`, or an integer, which is converted to its decimal digits."""
OptionalId = Annotated[
    Id | None,
    _Or((_digits(ID_LIMIT), _EMPTY), _expected_id(ID_LIMIT)),
    WithJsonSchema({"anyOf": [*_OPTIONAL, {"type": "null"}]}),
]
"""A `ProducerId` or None; an empty text becomes None."""
PART_LIMIT: Final = ID_LIMIT - len(COMMENT_PREFIX)
"""Maximum length of a post's or comment's id, in characters: the id limit minus the prefix's length."""
_Part = Annotated[str, StringConstraints(min_length=1, max_length=PART_LIMIT, pattern=ID_PATTERN)]
_part_spellings: Final = _Or((_digits(PART_LIMIT),), _expected_id(PART_LIMIT))
PartId = Annotated[_Part, _part_spellings, WithJsonSchema({"anyOf": _id_types(PART_LIMIT)})]
"""A `ProducerId` of a post or comment. The message id is a prefix followed by this id."""
OptionalPartId = Annotated[
    _Part | None, _part_spellings, WithJsonSchema({"anyOf": [*_id_types(PART_LIMIT), {"type": "null"}]})
]
"""A `PartId` or None."""
Role = Annotated[
    Label | None,
    _Or((_EMPTY,), "must be a text of at most 128 characters without control characters"),
    WithJsonSchema({"anyOf": [{"type": "string", "maxLength": 128, "pattern": OPTIONAL_PATTERN}, {"type": "null"}]}),
]
"""A platform's own name for a participant's role, or None; an empty text becomes None."""
MessageContent = Annotated[
    str,
    StringConstraints(max_length=CONTENT_LIMIT, pattern=r"^[^\x00]*[^\x00\s][^\x00]*$"),
    _Or((_BLANK,), f"must be a text of at most {CONTENT_LIMIT:,} characters without NUL"),
    WithJsonSchema({"type": "string", "maxLength": CONTENT_LIMIT, "pattern": r"^[^\x00]*$"}),
]
"""A message's text, without NUL characters. A text of only white space becomes empty."""
