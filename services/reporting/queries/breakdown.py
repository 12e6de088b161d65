"""Counts of verdicts in a time window by origin, time step, agent and version."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import asyncpg

from contracts.base import Origin
from reporting.queries.rolled import steps, votes
from reporting.selection import Filters, Project, TimeSpan
from reporting.votes import Votes

SPARK_STEPS: Final = 14
"""Number of time steps in an agent's sparkline."""


class Version(NamedTuple):
    """Agent and version; `name` is None if the platform gave no version."""

    agent_id: str
    name: str | None


@dataclass(slots=True)
class Breakdown:
    """Votes by origin: `user` for people, `machine` for machine verdicts and the reviews that replace them.

    `whole` counts the window, `steps` each time step (numbered from 0), `agents` each agent, `versions` each agent
    version, and `sparks` each time step of an agent's sparkline.
    """

    whole: dict[Origin, Votes] = field(default_factory=lambda: defaultdict(Votes))
    steps: dict[tuple[Origin, int], Votes] = field(default_factory=lambda: defaultdict(Votes))
    agents: dict[tuple[Origin, str], Votes] = field(default_factory=lambda: defaultdict(Votes))
    versions: dict[tuple[Origin, Version], Votes] = field(default_factory=lambda: defaultdict(Votes))
    sparks: dict[tuple[Origin, str, int], Votes] = field(default_factory=lambda: defaultdict(Votes))


_SUMS: Final = "sum(e.ok) as ok, sum(e.neutral) as neutral, sum(e.not_ok) as not_ok"
_SIDE: Final = "case when origin = 'user' then 'user' else 'machine' end"
_COUNTED: Final = f"""
select e.origin, e.agent_id, e.agent_version, e.spark,
       grouping(e.agent_id) = 0 as of_agent, grouping(e.agent_version) = 0 as of_version,
       grouping(e.spark) = 0 as of_spark, {_SUMS}
from (select agent_id, agent_version, ok, neutral, not_ok, {_SIDE} as origin,
             ((at - $3) * {SPARK_STEPS} / ($4 - $3))::int as spark from {{source}} s) e
group by grouping sets ((e.origin), (e.origin, e.agent_id), (e.origin, e.agent_id, e.agent_version),
                        (e.origin, e.agent_id, e.spark))
"""
_STEPS: Final = f"""
select {_SIDE} as origin, width_bucket(e.at, ${{at}}::bigint[]) as step, {_SUMS} from {{source}} e group by 1, 2
"""


async def breakdown(
    pool: asyncpg.Pool, at: Project, span: TimeSpan, filters: Filters, starts: Sequence[int] = ()
) -> Breakdown:
    """Count the window's effective reactions.

    `starts` are the starts of the time steps, in microseconds, ascending; without them steps are not counted. In a
    window of 14 days or more, sparklines count whole UTC days.
    """
    found = Breakdown()
    source = votes(at, span, filters)
    for row in await pool.fetch(_COUNTED.format(source=source.sql), *source.values):
        counted, origin = Votes(row["ok"], row["neutral"], row["not_ok"]), row["origin"]
        if row["of_version"]:
            found.versions[origin, Version(row["agent_id"], row["agent_version"])] = counted
        elif row["of_spark"]:
            found.sparks[origin, row["agent_id"], row["spark"]] = counted
        elif row["of_agent"]:
            found.agents[origin, row["agent_id"]] = counted
        else:
            found.whole[origin] = counted
    if starts:
        source = steps(at, span, filters, starts)
        statement = _STEPS.format(source=source.sql, at=len(source.values) + 1)
        for row in await pool.fetch(statement, *source.values, list(starts)):
            counted = Votes(row["ok"], row["neutral"], row["not_ok"])
            found.steps[row["origin"], max(0, row["step"] - 1)] += counted
    return found
