"""Model of the month's script: topics with questions, answers and complaints, and their phases."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

MONTH = Path(__file__).parent / "month.json"


class _Planned(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, frozen=True, extra="forbid")


class Release(_Planned):
    """Version of an agent, in use until `until` days ago; 0 for the current version."""

    version: str
    until: float = 0


class Phase(_Planned):
    """Period of a topic, in days ago, with its number of answers and the proportion that people reject."""

    begin: float = Field(alias="from")
    until: float
    answers: int
    rejected: float


class PlannedTopic(_Planned):
    """Topic of an agent. `{thing}` in a text is replaced by one of `things`."""

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
    """Script of the month. `versions` has each agent's releases, oldest first; `thanks` is keyed by language."""

    versions: dict[str, tuple[Release, ...]]
    people: dict[str, str]
    thanks: dict[str, tuple[str, ...]]
    topics: tuple[PlannedTopic, ...]


def read_month() -> MonthScript:
    """Load the sample month that is part of the package."""
    return MonthScript.model_validate_json(MONTH.read_bytes())
