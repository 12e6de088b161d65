"""Ranking of agents, worst first.

Agents are ranked by people's verdicts or by machine verdicts, never by their sum.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Annotated, Any, Final, Literal

from pydantic import Field

from contracts.base import Origin
from reporting.figures.rollup_counts import counted_votes, votes
from reporting.figures.votes import Votes
from reporting.model.responses import Counts, JudgedShare, ProjectReport, scope_of
from reporting.model.selection import Filters, Project, TimeSpan

ENOUGH_VOTES: Final = 10
"""Minimum number of verdicts by one side (people or the machine) that are needed to rank an agent by that side."""
MOST_AGENTS: Final = 1_000
JudgedBy = Literal["people", "machine"]


@dataclass(frozen=True, slots=True)
class AgentEvidence:
    """Verdicts on an agent.

    `machine` has the machine's verdicts that no review has replaced.
    """

    agent_id: str
    people: Votes
    machine: Votes

    def judged_by(self, least: int = ENOUGH_VOTES) -> JudgedBy | None:
        """Return the side (people or the machine) whose verdicts rank the agent.

        A side needs at least `least` verdicts. If both sides have enough, it is the side whose upper confidence bound
        of satisfaction is lower. Returns None if neither has enough.
        """
        enough: list[JudgedBy] = [side for side in _SIDES if self.of(side).total >= least]
        if not enough:
            return None
        side: JudgedBy = min(enough, key=self._upper)
        return side

    def shown(self, least: int = ENOUGH_VOTES) -> JudgedBy:
        """Return the side whose verdicts are shown for the agent.

        This is the side that ranks the agent. If neither side has enough verdicts, it is the side whose upper
        confidence bound of satisfaction is lower.
        """
        side = self.judged_by(least)
        lower: JudgedBy = min(_SIDES, key=self._upper)
        return lower if side is None else side

    def _upper(self, side: JudgedBy) -> float:
        return self.of(side).sure.high

    def of(self, side: JudgedBy) -> Votes:
        return self.people if side == "people" else self.machine

    def rank(self, least: int = ENOUGH_VOTES) -> Rank:
        """Return the agent's sort key, by which the worst agent comes first.

        Agents are sorted by the upper confidence bound of satisfaction by the shown verdicts, lowest first. Agents with
        enough verdicts neither by people nor by the machine come last.
        """
        counted = self.of(self.shown(least))
        return self.judged_by(least) is None, counted.sure.high, -counted.total, self.agent_id


Rank = tuple[bool, float, int, str]
_SIDES: Final[tuple[JudgedBy, ...]] = ("people", "machine")


class RankedAgent(Counts):
    """Verdicts on an agent. The agent is ranked either by people's verdicts or by machine verdicts.

    `satisfaction`, `low` and `high` are computed from the verdicts that rank the agent.
    """

    agent_id: Annotated[str, Field(description="The agent.")]
    people: Annotated[JudgedShare, Field(description="People's verdicts.")]
    inferred: Annotated[JudgedShare, Field(description="The machine's verdicts that no review has replaced.")]
    judged_by: Annotated[
        JudgedBy | None,
        Field(
            description="The side that ranks the agent: a side with at least `min_votes` verdicts. If both have "
            "enough, the side with the lower upper bound; null if neither has."
        ),
    ]
    satisfaction: Annotated[
        float | None,
        Field(description="Satisfaction on that side: ok / (ok + not_ok + neutral), 0 to 1; null without verdicts."),
    ]
    low: Annotated[float, Field(description="Lower bound of the 95 % confidence interval of satisfaction (Wilson).")]
    high: Annotated[float, Field(description="Upper bound of the 95 % confidence interval of satisfaction (Wilson).")]


class Ranking(ProjectReport):
    """Agents by the upper confidence bound of their satisfaction, lowest first.

    An agent is ranked if it has at least `min_votes` verdicts by people or at least `min_votes` by the machine. The
    other agents come last, in the same order.
    """

    min_votes: Annotated[int, Field(description="The requested minimum number of verdicts.")]
    agents: Annotated[list[RankedAgent], Field(description="Agents, worst first.")]


async def ranking(
    pool: Any, project: Project, span: TimeSpan, min_votes: int, filters: Filters, limit: int = MOST_AGENTS
) -> Ranking:
    """Rank the agents by the upper confidence bound of their satisfaction, lowest first.

    The upper bound keeps agents with few verdicts from being ranked worst.
    """
    source = votes(project, span, filters)
    by_agent: dict[str, dict[Origin, Votes]] = defaultdict(dict)
    for row in await counted_votes(pool, source):
        by_agent[row.agent_id or ""][row.origin] = row.votes
    agents = sorted(
        (
            AgentEvidence(agent, by_origin.get("user", Votes()), by_origin.get("machine", Votes()))
            for agent, by_origin in by_agent.items()
        ),
        key=lambda agent: agent.rank(min_votes),
    )
    return Ranking(
        **scope_of(project, span),
        min_votes=min_votes,
        agents=[_ranked(evidence, by_agent[evidence.agent_id], min_votes) for evidence in agents[:limit]],
    )


def _ranked(agent: AgentEvidence, by_origin: Mapping[Origin, Votes], least: int) -> RankedAgent:
    counted, shown = sum(by_origin.values(), Votes()), agent.of(agent.shown(least))
    return RankedAgent(
        agent_id=agent.agent_id,
        people=_share(agent.people),
        inferred=_share(agent.machine),
        judged_by=agent.judged_by(least),
        satisfaction=shown.satisfaction,
        low=shown.sure.low,
        high=shown.sure.high,
        total=counted.total,
        user=agent.people.total,
        machine=agent.machine.total,
        reviewer=by_origin.get("reviewer", Votes()).total,
        ok=counted.ok,
        not_ok=counted.not_ok,
        neutral=counted.neutral,
    )


def _share(counted: Votes) -> JudgedShare:
    sure = counted.sure
    return JudgedShare(**asdict(counted), satisfaction=counted.satisfaction, low=sure.low, high=sure.high)
