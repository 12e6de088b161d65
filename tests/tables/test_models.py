"""Base classes of models that read input: unknown fields, later changes, conversions, and input in errors.

The rows follow the rules of the style guide: external input is hostile, and secrets and people's texts stay out of
errors.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError, create_model

import standalone.sample.script
from contracts.base import Model
from feedback.api_reviews import GivenReview
from feedback.api_sessions import GivenEnd
from feedback.submission_body import GivenFeedback
from inference.api_bodies import Body
from inference.llm_gate.answer import LlmAnswer
from reporting.alerts.rules import RuleSettings
from reporting.api.alerts import ChannelName, RuleName
from reporting.api.bodies import RequestBody
from reporting.dashboard.view import View
from reporting.queries.answers import ResponseModel
from servicekit.settings import FileSettings, Settings

IGNORES, FORBIDS = "ignores unknown fields", "refuses unknown fields"
FROZEN, STRICT, HIDES = "cannot be changed", "converts no types", "shows no input in errors"
RULES: Mapping[type[BaseModel], set[str]] = {
    Model: {IGNORES, FROZEN, STRICT},
    RequestBody: {FORBIDS, FROZEN},
    GivenReview: {FORBIDS, FROZEN, STRICT},
    GivenFeedback: {FORBIDS, FROZEN, STRICT},
    GivenEnd: {FORBIDS, FROZEN, STRICT},
    Body: {FORBIDS, FROZEN, STRICT},
    LlmAnswer: {FORBIDS, FROZEN, STRICT, HIDES},
    RuleSettings: {FORBIDS, FROZEN, HIDES},
    RuleName: {FORBIDS, HIDES},
    ChannelName: {FORBIDS, HIDES},
    View: {IGNORES, FROZEN},
    ResponseModel: {IGNORES, FROZEN},
    Settings: {FORBIDS, FROZEN, HIDES},
    FileSettings: {FORBIDS, FROZEN, HIDES},
    standalone.sample.script._Written: {FORBIDS, FROZEN},
}
ENTERED = "zanzibar-secret"


def faults(model: type[BaseModel], **fields: Any) -> tuple[set[str], str]:
    """Return the kinds of faults that validation finds, apart from missing fields, and its message."""
    try:
        model(**fields)
    except ValidationError as error:
        return {fault["type"] for fault in error.errors()} - {"missing"}, str(error)
    return set(), ""


@pytest.mark.parametrize("base", RULES, ids=lambda base: base.__name__)
def test_a_model_keeps_its_rules(base: type[BaseModel]) -> None:
    rules = RULES[base]
    probe: Any = create_model("Probe", __base__=base, number=(int, 0))
    unknown, _ = faults(probe, unknown=1)
    assert ("extra_forbidden" in unknown) == (FORBIDS in rules) != (IGNORES in rules)
    assert ("int_type" in faults(probe, number="1")[0]) == (STRICT in rules)
    found, said = faults(probe, number=ENTERED)
    assert found
    assert (ENTERED not in said) == (HIDES in rules)
    made = probe.model_construct(number=1)
    if FROZEN in rules:
        with pytest.raises(ValidationError):
            made.number = 2
    else:
        made.number = 2
