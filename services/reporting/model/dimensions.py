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
    """Dimension of verdicts.

    Attributes:
        column: Column of the feedback table, or None for an answer attribute.
        is_rolled: True if the roll-up table has this column, too.
    """

    name: str
    label: str
    column: str | None = None
    is_rolled: bool = False

    @property
    def is_attribute(self) -> bool:
        return self.name.startswith(ATTRIBUTES)

    @property
    def filter(self) -> str:
        """The name of the filter for values of this dimension."""
        return self.column or self.name


KNOWN: Final = {
    named.name: named
    for named in (
        Dimension("version", "Version", "agent_version", is_rolled=True),
        Dimension("model", "Model", "model", is_rolled=True),
        Dimension("agent", "Agent", "agent_id", is_rolled=True),
        Dimension("strategy", "Strategy", "strategy"),
        Dimension("bundle", "Bundle", "bundle_id"),
        Dimension("track", "Track", "track_id"),
        Dimension("intent", "Intent", "intent"),
        Dimension("user_type", "Role of the person", "user_type"),
    )
}


def dimension(name: str) -> Dimension:
    """Return the dimension with this name.

    Any name that is not in KNOWN is taken as the name of an answer attribute.
    """
    return KNOWN.get(name) or Dimension(name, name.removeprefix(ATTRIBUTES).replace("_", " ").capitalize())
