"""Dimensions by which verdicts are compared: of the agent, of the answer, of the person, and the answer's attributes.

Agent, version and model are columns of every roll-up; the other dimensions have roll-ups of their own. Pure.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Final

from pydantic import StringConstraints

ATTRIBUTES: Final = "attributes."
"""Prefix of the dimensions that are attributes of the answer."""
DimensionName = Annotated[
    str,
    StringConstraints(
        max_length=267, pattern=r"^(agent|version|model|bundle|track|intent|strategy|user_type|attributes\.[^\x00]+)$"
    ),
]


@dataclass(frozen=True, slots=True)
class Dimension:
    """Dimension of verdicts. The columns are None if the table lacks one."""

    name: str
    label: str
    rolled: str | None = None
    """Column of every roll-up, and of feedback."""
    of_feedback: str | None = None
    """Column of feedback."""
    of_answer: str | None = None
    """Column of messages; None if the dimension is not one of the answer."""

    @property
    def is_attribute(self) -> bool:
        return self.name.startswith(ATTRIBUTES)

    def cases(self, value: str) -> dict[str, str]:
        """Return the parameters of pages that list the feedback with a value."""
        return {self.name: value}


KNOWN: Final = {
    one.name: one
    for one in (
        Dimension("version", "Version", "agent_version", of_answer="agent_version"),
        Dimension("model", "Model", "model", of_answer="model"),
        Dimension("agent", "Agent", "agent_id", of_answer="agent_id"),
        Dimension("strategy", "Strategy", of_answer="strategy"),
        Dimension("bundle", "Bundle", of_feedback="bundle_id", of_answer="bundle_id"),
        Dimension("track", "Track", of_feedback="track_id", of_answer="track_id"),
        Dimension("intent", "Intent", of_feedback="intent", of_answer="intent"),
        Dimension("user_type", "Role of the person", of_feedback="user_type"),
    )
}


def dimension(name: str) -> Dimension:
    """Return the dimension of a valid name."""
    return KNOWN.get(name) or Dimension(name, name.removeprefix(ATTRIBUTES).replace("_", " ").capitalize())
