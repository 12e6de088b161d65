"""Validation errors as one sentence, without what was sent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict, ValidationError, field_validator

from servicekit.validation_errors import error_summary


def fault(*place: str | int, msg: str = "is wrong", kind: str = "value_error") -> dict[str, Any]:
    return {"loc": place, "msg": msg, "type": kind}


NUMBERED = [fault(f"f{number}") for number in range(7)]
FIVE = "; ".join(f"f{number}: is wrong" for number in range(5))


@pytest.mark.parametrize(
    ("faults", "said"),
    [
        ([], ""),
        ([fault()], "body: is wrong"),
        ([fault("body")], "body: is wrong"),
        ([fault("body", "a", 3, "b")], "a.3.b: is wrong"),
        ([fault("query", "limit")], "limit: is wrong"),
        ([fault("a", "body")], "a.body: is wrong"),
        ([fault("a"), fault("b"), fault("a")], "a: is wrong; b: is wrong"),
        (NUMBERED[:5], FIVE),
        (NUMBERED[:6], f"{FIVE}; and 1 more"),
        (NUMBERED, f"{FIVE}; and 2 more"),
        ([fault("x" * 65)], f"{'x' * 64}: is wrong"),
        ([fault("x" * 64)], f"{'x' * 64}: is wrong"),
        ([fault("name", msg="é")], r"name: \xe9"),
        ([fault("a", "what Ann wrote", kind="extra_forbidden")], "a: an unknown field"),
        ([fault("what Ann wrote", kind="extra_forbidden")], "an unknown field"),
        ([fault("body", "what Ann wrote", kind="extra_forbidden")], "an unknown field"),
        ([fault("body", "Ann", kind="extra_forbidden")], "an unknown field"),
        ([fault("query", "what Ann wrote", kind="extra_forbidden")], "an unknown field"),
        ([fault("query", "attributes.lang", kind="extra_forbidden")], "attributes.lang: an unknown parameter"),
    ],
)
def test_the_first_five_rules_are_named_once_each(faults: Sequence[Any], said: str) -> None:
    assert error_summary(faults) == said


class Even(BaseModel):
    model_config = ConfigDict(extra="forbid")

    number: int

    @field_validator("number")
    @classmethod
    def _is_even(cls, number: int) -> int:
        if number % 2:
            raise ValueError("the number must be even")
        return number


def test_a_rule_of_our_own_is_said_as_it_is() -> None:
    with pytest.raises(ValidationError) as raised:
        Even.model_validate({"number": 3, "what Ann wrote": 1})
    assert error_summary(raised.value.errors()) == "number: the number must be even; an unknown field"
