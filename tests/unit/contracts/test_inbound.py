"""Bounds of the field types for events from chat services."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from contracts.base import ID_LIMIT
from contracts.inbound import PART_LIMIT, OptionalId, OptionalPartId, PartId, ProducerId, ProducerInstant
from contracts.instants import LAST

TIMES: TypeAdapter[int] = TypeAdapter(ProducerInstant)
EARLIEST_MS = 100_000_000_000
LAST_MS = LAST // 1_000


@pytest.mark.parametrize(
    ("milliseconds", "microseconds"),
    [
        (EARLIEST_MS, EARLIEST_MS * 1_000),
        (EARLIEST_MS + 0.5, EARLIEST_MS * 1_000 + 500),
        (1_772_357_400_000.0016, 1_772_357_400_000_002),
        (LAST_MS, LAST_MS * 1_000),
    ],
)
def test_a_number_is_read_as_epoch_milliseconds(milliseconds: float, microseconds: int) -> None:
    assert TIMES.validate_json(json.dumps(milliseconds)) == microseconds


@pytest.mark.parametrize("given", [EARLIEST_MS - 1, LAST_MS + 1, 0, -1, float("nan"), float("inf"), True, None, []])
def test_what_cannot_be_epoch_milliseconds_is_refused(given: object) -> None:
    with pytest.raises(ValidationError, match="a time must be RFC 3339 with an offset, or a number of epoch millisec"):
        TIMES.validate_json(json.dumps(given))


def test_python_values_are_microseconds_from_the_epoch_to_the_last_instant() -> None:
    assert [TIMES.validate_python(given) for given in (0, 1, LAST)] == [0, 1, LAST]
    for given in (-1, LAST + 1, True, False):
        with pytest.raises(ValidationError):
            TIMES.validate_python(given)


@pytest.mark.parametrize(
    ("kind", "limit"),
    [(ProducerId, ID_LIMIT), (OptionalId, ID_LIMIT), (PartId, PART_LIMIT), (OptionalPartId, PART_LIMIT)],
)
@pytest.mark.parametrize("spelling", [str, int])
def test_an_id_has_up_to_its_limit_of_characters_or_digits(kind: Any, limit: int, spelling: type) -> None:
    ids: TypeAdapter[Any] = TypeAdapter(kind)
    for digits in (1, limit):
        assert ids.validate_python(spelling("7" * digits)) == "7" * digits
    with pytest.raises(ValidationError) as refused:
        ids.validate_python(spelling("7" * (limit + 1)))
    [error] = refused.value.errors()
    told = f"must be an integer, or a text of 1 to {limit} characters without control characters"
    assert (error["type"], error["msg"]) == ("spelling", told)


@pytest.mark.parametrize("kind", [ProducerId, OptionalId, PartId, OptionalPartId])
def test_true_is_no_id(kind: Any) -> None:
    with pytest.raises(ValidationError):
        TypeAdapter(kind).validate_python(True)
