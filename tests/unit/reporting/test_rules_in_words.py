"""Alert rules as sentences."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import TypeAdapter

from reporting.alerts.rules import AlertRule
from reporting.pages.alerts import rule_in_words, rules_shown

RULE: TypeAdapter[Any] = TypeAdapter(AlertRule)
SATISFACTION: dict[str, Any] = {"kind": "satisfaction_below", "below": 0.755}


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        (SATISFACTION, "Satisfaction with each agent is below 75.5% (people's verdicts, up to 7 days)."),
        (
            SATISFACTION | {"agent": "bot", "verdicts": "machine", "days": 3},
            "Satisfaction with bot is below 75.5% (machine verdicts, up to 3 days).",
        ),
        (
            SATISFACTION | {"agent": "bot", "per": "version"},
            "Satisfaction with each version of bot is below 75.5% (people's verdicts, up to 7 days).",
        ),
        (
            {"kind": "satisfaction_dropped", "per": "version"},
            "Satisfaction with each version of each agent dropped from the 28 days before (people's verdicts, up to 7"
            " days).",
        ),
        (
            {"kind": "satisfaction_dropped", "agent": "bot", "verdicts": "machine"},
            "Satisfaction with bot dropped from the 28 days before (machine verdicts, up to 7 days).",
        ),
        (
            {"kind": "silence", "hours": 5, "least": 30},
            "No feedback for 5 hours, but at least 30 verdicts a week before.",
        ),
        (
            {"kind": "silence", "agent": "bot", "hours": 5, "least": 30},
            "No feedback on bot for 5 hours, but at least 30 verdicts a week before.",
        ),
        (
            {"kind": "new_issue", "people": 1, "days": 3},
            "An issue affects 1 person or more, and its first rejection is at most 3 days old.",
        ),
        (
            {"kind": "new_issue", "agent": "bot", "people": 2_000},
            "An issue of bot affects 2,000 people or more, and its first rejection is at most 7 days old.",
        ),
        ({"kind": "regressed_issue"}, "A resolved issue came back."),
        ({"kind": "regressed_issue", "agent": "bot"}, "A resolved issue of bot came back."),
    ],
)
def test_a_rule_is_described_in_a_sentence(rule: dict[str, Any], words: str) -> None:
    made = RULE.validate_python(rule | {"name": "mine", "channels": ["team"]})
    assert rule_in_words(made) == words
    assert rules_shown([made]) == [{"name": "mine", "words": words, "channels": ("team",)}]
