"""Fetch context for an agent's planner within a time budget. Errors are logged and never raised."""

from __future__ import annotations

import logging
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final, TypedDict, Unpack

from agent_feedback_kit.answers import DetectedJson, PreviousAnswer, Strategy
from agent_feedback_kit.client import calls
from agent_feedback_kit.client.asynchronous import AsyncClient
from agent_feedback_kit.client.requests import Call, ProjectPlace
from agent_feedback_kit.client.synchronous import Client
from agent_feedback_kit.deadlines import within

log = logging.getLogger("agent_feedback_kit.planning")
BUDGET_SECONDS: Final = 0.05
STRATEGIES: Final = 5
"""Number of strategies to request."""
WAITING_SHARE: Final = 0.5
"""Fraction of the budget for which the platform may wait for its index; the rest is for its response."""


class NewMessage(TypedDict, total=False):
    """Details of the message that the agent is about to answer.

    `previous` is the agent's previous answer. Pass it, because the platform may not have indexed it yet. `agent_id` is
    the agent that will answer, by default that of the previous answer. `intent` is the presumed intent of the message.
    Only strategies of this agent and for this intent are returned.
    """

    user_id: str | None
    turn_id: str | None
    message_id: str | None
    reply_to_message_id: str | None
    thread_id: str | None
    previous: PreviousAnswer | None
    agent_id: str | None
    intent: str | None


@dataclass(frozen=True, slots=True)
class Planning:
    """Context for a planner.

    Attributes:
        detected: The platform's response, or None if there was none.
        missing: The reason for a missing response: `slow` or the name of an exception.
    """

    detected: DetectedJson | None
    missing: str | None = None

    @property
    def markdown(self) -> str | None:
        """Section for the planner's prompt, or None if there is nothing to report. It quotes messages of users."""
        return self.detected["planner_markdown"] if self.detected else None

    @property
    def strategies(self) -> tuple[Strategy, ...]:
        """Strategies with positive feedback on similar questions, the best first."""
        return tuple(self.detected.get("strategies", ())) if self.detected else ()

    @property
    def answer_not_seen(self) -> bool:
        """True if the message may have been judged before the latest answer was indexed.

        Pass the answer as `previous` to prevent this.
        """
        return self.detected is not None and self.detected.get("answer_not_seen", False)


async def before_planning(
    client: AsyncClient,
    conversation_id: str,
    text: str,
    *,
    budget: float = BUDGET_SECONDS,
    **message: Unpack[NewMessage],
) -> Planning:
    """Return context for the answer to the message `text`: a verdict, and strategies for similar questions.

    The verdict is about the previous answer and is inferred from `text`. Sends one request and takes at most `budget`
    seconds. Never raises: if the service is slow, unreachable or returns an error, the result is empty and a WARNING is
    logged.
    """
    try:
        call = _question(client.project, conversation_id, text, message, budget)
        detected = await within(budget, client.send(call, within=budget))
        return Planning(detected)
    except Exception as error:
        return _nothing(error)


def before_planning_blocking(
    client: Client,
    conversation_id: str,
    text: str,
    *,
    budget: float = BUDGET_SECONDS,
    **message: Unpack[NewMessage],
) -> Planning:
    """Return the same result as `before_planning`, without asyncio.

    The call runs in a thread. It has the same time budget and never raises.
    """
    try:
        call = _question(client.project, conversation_id, text, message, budget)
        thread = ThreadPoolExecutor(1, thread_name_prefix="before_planning")
        try:
            return Planning(thread.submit(client.send, call, budget).result(budget))
        finally:
            thread.shutdown(wait=False, cancel_futures=True)
    except Exception as error:
        return _nothing(error)


def _question(
    project: ProjectPlace, conversation_id: str, text: str, message: NewMessage, budget: float
) -> Call[DetectedJson]:
    more: dict[str, Any] = {"strategies": STRATEGIES, "wait_seconds": round(budget * WAITING_SHARE, 3)}
    return calls.detect(project, conversation_id, text, **message, **more)


def _nothing(error: Exception) -> Planning:
    why = "slow" if isinstance(error, TimeoutError) else type(error).__name__
    log.warning("Planning without feedback (%s).", why)
    return Planning(None, why)
