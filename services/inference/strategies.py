"""Select successful strategies for the planner of the next answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from inference.detection import Detection
from inference.store import ConversationKey
from inference.turns.rules import Turn
from inference.turns.store import StrategyFilter, TurnSearch

SEARCHED_TURNS: Final = 50
"""Number of turns that are read to find distinct strategies."""


async def strategies_that_worked(
    turns: TurnSearch,
    where: ConversationKey,
    text: str,
    found: Detection,
    *,
    limit: int,
    intent: str | None = None,
    agent_id: str | None = None,
) -> Sequence[Turn]:
    """Return turns with strategies that were successful for similar questions: one turn per strategy, best first.

    At most `limit` turns are returned. If `text` rejects a turn, the question of that turn is compared, and its
    strategy is excluded. Otherwise `text` is compared. Only strategies of the agent `agent_id` are returned. If
    `agent_id` is None, the agent that `found` is about is used instead; without such an agent, strategies of all agents
    are returned.
    """
    if limit < 1:
        return ()
    about = found.advice.turn if found.advice else None
    rejected = about if about is not None and about.status == "rejected" else None
    question = (rejected.user_text if rejected else None) or text
    agent = agent_id or (about.agent_id if about else None)
    wanted = StrategyFilter(where.tenant, where.project, intent=intent, text=question, agent_id=agent, praised=True)
    best: dict[str | None, Turn] = {}
    for turn in await turns.search(wanted, SEARCHED_TURNS):
        best.setdefault(turn.strategy, turn)
    if rejected:
        best.pop(rejected.strategy, None)
    return list(best.values())[:limit]
