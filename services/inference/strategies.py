"""Selection of strategies that worked, for the planner of the next answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from inference.detection import Detected
from inference.model import ConversationKey
from inference.turns.model import StrategyFilter
from inference.turns.rules import Turn
from inference.turns.search import TurnSearch

SEARCHED_TURNS: Final = 50
"""Number of turns that are searched for distinct strategies."""


async def strategies_that_worked(
    turns: TurnSearch,
    where: ConversationKey,
    text: str,
    detected: Detected,
    *,
    limit: int,
    intent: str | None = None,
    agent_id: str | None = None,
) -> Sequence[Turn]:
    """Return turns whose strategies worked for similar questions, best first, with one turn per strategy.

    If the new message rejects a turn, questions similar to that turn's question are searched, and the rejected strategy
    is excluded. Otherwise, questions similar to `text` are searched.

    Args:
        detected: The detection result for the new message.
        limit: Maximum number of turns.
        intent: Only return strategies for questions with this intent.
        agent_id: Only return strategies of this agent. By default, the agent of the turn that `detected` is about, or
            all agents if that is unknown.
    """
    if limit < 1:
        return ()
    about = detected.advice.turn if detected.advice else None
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
