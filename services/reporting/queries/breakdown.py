"""Counts of one window by origin, step of time, agent and version, in one pass over it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import asyncpg

from contracts.base import Origin
from reporting.queries.counts import COUNTS
from reporting.selection import Filters, Project, Span, where
from reporting.votes import Votes

SPARK_STEPS: Final = 14
"""Steps of an agent's little chart."""


class Version(NamedTuple):
    """An agent's version; None where the platform did not say it."""

    agent_id: str
    name: str | None


@dataclass(slots=True)
class Breakdown:
    """Votes of each origin: of all, of each step by its number from 0, of each agent and version."""

    whole: dict[Origin, Votes] = field(default_factory=lambda: defaultdict(Votes))
    steps: dict[tuple[Origin, int], Votes] = field(default_factory=lambda: defaultdict(Votes))
    agents: dict[tuple[Origin, str], Votes] = field(default_factory=lambda: defaultdict(Votes))
    versions: dict[tuple[Origin, Version], Votes] = field(default_factory=lambda: defaultdict(Votes))
    sparks: dict[tuple[Origin, str, int], Votes] = field(default_factory=lambda: defaultdict(Votes))


_COUNTED: Final = f"""
select e.origin, e.step, e.agent_id, e.agent_version, e.spark,
       grouping(e.step) = 0 as of_step, grouping(e.agent_id) = 0 as of_agent,
       grouping(e.agent_version) = 0 as of_version, grouping(e.spark) = 0 as of_spark, {COUNTS}
from (
    select e.origin, e.reaction, e.agent_id, e.agent_version, width_bucket(e.occurred_at, ${{at}}::bigint[]) as step,
           ((e.occurred_at - $3) * {SPARK_STEPS} / ($4 - $3))::int as spark
    from {{view}} e where {{where}}
) e
group by grouping sets ((e.origin), (e.origin, e.step), (e.origin, e.agent_id),
                        (e.origin, e.agent_id, e.agent_version), (e.origin, e.agent_id, e.spark))
"""


async def breakdown(
    pool: asyncpg.Pool, at: Project, span: Span, filters: Filters, starts: Sequence[int] = (0,)
) -> Breakdown:
    """Count the window's effective reactions. `starts` are where steps begin, in microseconds, ascending."""
    condition, values = where(at, span, filters)
    statement = _COUNTED.format(view=filters.view, where=condition, at=len(values) + 1)
    found = Breakdown()
    for row in await pool.fetch(statement, *values, list(starts)):
        votes, origin = Votes(row["ok"], row["neutral"], row["not_ok"]), row["origin"]
        if row["of_step"]:
            found.steps[origin, max(0, row["step"] - 1)] += votes
        elif row["of_version"]:
            found.versions[origin, Version(row["agent_id"], row["agent_version"])] = votes
        elif row["of_spark"]:
            found.sparks[origin, row["agent_id"], row["spark"]] = votes
        elif row["of_agent"]:
            found.agents[origin, row["agent_id"]] = votes
        else:
            found.whole[origin] = votes
    return found
