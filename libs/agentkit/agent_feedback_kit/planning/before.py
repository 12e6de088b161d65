"""Asks everything that a planner needs at once, within a fixed time: a conversation is never held up, nor broken."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any, Final

from agent_feedback_kit.answers import Detected, Latest, PreviousAnswer, Strategy
from agent_feedback_kit.client import calls
from agent_feedback_kit.client.asynchronous import AsyncClient
from agent_feedback_kit.client.calls import Call, Place
from agent_feedback_kit.client.synchronous import Client
from agent_feedback_kit.planning.context import planner_markdown

log = logging.getLogger("agent_feedback_kit.planning")
BUDGET_SECONDS: Final = 0.05
_SLOW: Final = "slow"


@dataclass(frozen=True, slots=True)
class Planning:
    """What was answered in time. What was not is None or empty, and `missing` says why, by the name of the question."""

    detected: Detected | None
    latest: Latest | None
    strategies: tuple[Strategy, ...]
    missing: Mapping[str, str]

    @property
    def markdown(self) -> str | None:
        """What goes into the planner's prompt; None where there is nothing to say."""
        return planner_markdown(self.detected, self.strategies)


async def before_planning(
    client: AsyncClient,
    conversation_id: str,
    text: str,
    *,
    user_id: str | None = None,
    turn_id: str | None = None,
    message_id: str | None = None,
    intent: str | None = None,
    watermark: str | None = None,
    reply_to_message_id: str | None = None,
    thread_id: str | None = None,
    previous: PreviousAnswer | None = None,
    budget: float = BUDGET_SECONDS,
) -> Planning:
    """What the new message `text` says of the last answer, what was said of turns, and which strategies worked.

    `previous` is the answer before it: pass it, for within `budget` that is often not indexed yet.

    Three questions at once, in the time of one, `budget` seconds at most. Never raises: a service that is slow, wrong
    or gone gives nothing, and a WARNING in the log.
    """
    try:
        said: dict[str, Any] = {"user_id": user_id, "previous": previous, "turn_id": turn_id, "message_id": message_id}
        said |= {"reply_to_message_id": reply_to_message_id, "thread_id": thread_id}
        asked = _questions(client.place, conversation_id, text, said, intent, watermark)
        tasks = {name: asyncio.create_task(client.send(call, within=budget)) for name, call in asked.items()}
        done, slow = await asyncio.wait(tasks.values(), timeout=budget)
        for task in slow:
            task.cancel()
            task.add_done_callback(_forget)
        return _planning({name: task.result for name, task in tasks.items() if task in done})
    except Exception as error:
        return _nothing(error)


def before_planning_blocking(
    client: Client,
    conversation_id: str,
    text: str,
    *,
    user_id: str | None = None,
    turn_id: str | None = None,
    message_id: str | None = None,
    intent: str | None = None,
    watermark: str | None = None,
    reply_to_message_id: str | None = None,
    thread_id: str | None = None,
    previous: PreviousAnswer | None = None,
    budget: float = BUDGET_SECONDS,
) -> Planning:
    """`before_planning` for programs without asyncio: three threads, the same time, the same promises."""
    try:
        said: dict[str, Any] = {"user_id": user_id, "previous": previous, "turn_id": turn_id, "message_id": message_id}
        said |= {"reply_to_message_id": reply_to_message_id, "thread_id": thread_id}
        asked = _questions(client.place, conversation_id, text, said, intent, watermark)
        threads = ThreadPoolExecutor(len(asked), thread_name_prefix="before_planning")
        try:
            futures = {name: threads.submit(client.send, call, budget) for name, call in asked.items()}
            done, _ = wait(futures.values(), budget)
        finally:
            threads.shutdown(wait=False, cancel_futures=True)
        return _planning({name: future.result for name, future in futures.items() if future in done})
    except Exception as error:
        return _nothing(error)


def _questions(
    place: Place,
    conversation_id: str,
    text: str,
    said: Mapping[str, Any],
    intent: str | None,
    watermark: str | None,
) -> dict[str, Call[Any]]:
    return {
        "detect": calls.detect(place, conversation_id, text, **said),
        "latest": calls.latest(place, conversation_id, watermark=watermark),
        "strategies": calls.search_strategies(place, text=text, intent=intent),
    }


def _planning(results: Mapping[str, Callable[[], Any]]) -> Planning:
    """The answers that came. `results` gives each of them, or raises what went wrong."""
    answers: dict[str, Any] = {}
    missing: dict[str, str] = {}
    for name in ("detect", "latest", "strategies"):
        if name not in results:
            missing[name] = _SLOW
            continue
        try:
            answers[name] = results[name]()
        except Exception as error:
            missing[name] = type(error).__name__
    if missing:
        log.warning("Planning without %s.", ", ".join(f"{name} ({why})" for name, why in missing.items()))
    found = answers.get("strategies")
    return Planning(answers.get("detect"), answers.get("latest"), tuple(found["items"]) if found else (), missing)


def _nothing(error: Exception) -> Planning:
    log.warning("Planning without feedback (%s).", type(error).__name__)
    return Planning(None, None, (), dict.fromkeys(("detect", "latest", "strategies"), type(error).__name__))


def _forget(task: asyncio.Task[Any]) -> None:
    if not task.cancelled():
        task.exception()
