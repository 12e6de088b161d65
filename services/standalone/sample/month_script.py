"""Data model of the file from which the sample's month is generated.

It contains topics and their phases, with questions, answers and complaints.
"""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

MONTH = Path(__file__).parent / "month.json"


class _Planned(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, frozen=True, extra="forbid")


class Release(_Planned):
    """A version of an agent that was in use until `until` days ago. 0 means that it is still in use."""

    version: str
    until: float = 0


class Phase(_Planned):
    """A period of a topic.

    `begin` and `until` are in days before now. `rejected` is the proportion of rejected answers.
    """

    begin: float = Field(alias="from")
    until: float
    answers: int
    rejected: float


class PlannedTopic(_Planned):
    """A topic about which people ask an agent. `{thing}` in a text is replaced with one of `things`."""

    name: str
    agent: str
    intent: str
    strategy: str
    bundle: str
    channel: str
    language: str
    things: tuple[str, ...]
    questions: tuple[str, ...]
    good: tuple[str, ...]
    bad: tuple[str, ...]
    complaints: tuple[str, ...]
    corrections: tuple[str, ...]
    phases: tuple[Phase, ...]


class MonthScript(_Planned):
    """File from which the sample's month is generated.

    `versions` lists the versions of each agent, oldest first. `thanks` is keyed by language.
    """

    versions: dict[str, tuple[Release, ...]]
    people: dict[str, str]
    thanks: dict[str, tuple[str, ...]]
    topics: tuple[PlannedTopic, ...]


def read_month() -> MonthScript:
    """Load the script of the sample's month, which is part of the package."""
    return MonthScript.model_validate_json(MONTH.read_bytes())
