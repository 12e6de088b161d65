"""Dimensions by which verdicts are compared. No I/O.

A dimension is a property of the agent, the answer or the person, or an answer attribute. Agent, version and model are
columns of every roll-up. The other dimensions have roll-ups of their own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Final

from pydantic import StringConstraints

ATTRIBUTES: Final = "attributes."
"""Name prefix of dimensions that are answer attributes."""
DimensionName = Annotated[
    str,
    StringConstraints(
        max_length=267, pattern=r"^(agent|version|model|bundle|track|intent|strategy|user_type|attributes\.[^\x00]+)$"
    ),
]


@dataclass(frozen=True, slots=True)
class Dimension:
    """Dimension of verdicts, with the names of its columns.

    A column name is None if the table has no column for the dimension.
    """

    name: str
    label: str
    rolled: str | None = None
    """Column name in the roll-up table and in the feedback table."""
    of_feedback: str | None = None
    """Column name in the feedback table only."""

    @property
    def is_attribute(self) -> bool:
        return self.name.startswith(ATTRIBUTES)

    @property
    def filter(self) -> str:
        """Return the name of the filter for values of this dimension."""
        return self.rolled or self.of_feedback or self.name


KNOWN: Final = {
    named.name: named
    for named in (
        Dimension("version", "Version", "agent_version"),
        Dimension("model", "Model", "model"),
        Dimension("agent", "Agent", "agent_id"),
        Dimension("strategy", "Strategy", of_feedback="strategy"),
        Dimension("bundle", "Bundle", of_feedback="bundle_id"),
        Dimension("track", "Track", of_feedback="track_id"),
        Dimension("intent", "Intent", of_feedback="intent"),
        Dimension("user_type", "Role of the person", of_feedback="user_type"),
    )
}


def dimension(name: str) -> Dimension:
    """Return the dimension with this name.

    Any name that is not in KNOWN is taken as the name of an answer attribute.
    """
    return KNOWN.get(name) or Dimension(name, name.removeprefix(ATTRIBUTES).replace("_", " ").capitalize())
