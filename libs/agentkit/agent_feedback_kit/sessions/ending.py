"""The steps of the commands `/end` and `/exit`: question, rating, summary and farewell.

If a step fails, no exception is raised.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final, Literal

from agent_feedback_kit.answers import Label
from agent_feedback_kit.deadlines import within
from agent_feedback_kit.sessions.record import Source

log = logging.getLogger("agent_feedback_kit.sessions")
PROMPT: Final = "Quick check — did today feel helpful? [y/n/s] (or Enter to skip without recording)"
SAVE_PROMPT: Final = "Save this session before you go? [Y/n]"
FAREWELL: Final = "Take care — until next time."
ANSWERS: Final[dict[str, Label]] = {
    "y": "positive",
    "yes": "positive",
    "n": "negative",
    "no": "negative",
    "s": "skip",
    "skip": "skip",
}
_ASKED_AT_MOST = 3
SUMMARY_SECONDS: Final = 30.0
Ask = Callable[[str], Awaitable[str]]
"""Function that shows a question and returns the typed line. Raises EOFError or KeyboardInterrupt if none is typed."""
Say = Callable[[str], None]
Record = Callable[[Label, Source], Awaitable[object]]
Summarise = Callable[[], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Ended:
    """Outcome of ending a session.

    Attributes:
        label: The rating, or None if none was given.
        saved: False if the person chose not to save the session.
    """

    label: Label | None
    saved: bool


def label_of(answer: str) -> Label | None:
    """Return the label for a typed answer, or None if the answer is empty or invalid."""
    return ANSWERS.get(answer.strip().lower())


async def ask_for_rating(ask: Ask) -> Label | None:
    """Ask for a rating until the answer is valid, at most three times.

    Returns:
        The label of the rating. None after an empty answer, Ctrl-C, end of input, or three invalid answers.
    """
    for _ in range(_ASKED_AT_MOST):
        answer = await _answered(ask, PROMPT)
        if answer is None or not answer.strip():
            return None
        if label := label_of(answer):
            return label
    return None


async def end_session(
    how: Literal["end", "exit"],
    *,
    ask: Ask,
    say: Say,
    record: Record,
    summarise: Summarise | None = None,
    summary_seconds: float = SUMMARY_SECONDS,
) -> Ended:
    """Ask for a rating, record it, summarise the session, say farewell, and return the outcome.

    The command `/exit` first asks if the session should be saved. After a "no", Ctrl-C or end of input, the rating and
    the summary are skipped. If `record` or `summarise` fails, a warning is logged.

    Args:
        how: The command.
        ask: Function that asks a question.
        say: Function that shows a text.
        record: Function that stores the rating.
        summarise: Function that summarises the session.
        summary_seconds: Time limit for the summary in seconds.
    """
    saved = how == "end" or _wants_saving(await _answered(ask, SAVE_PROMPT))
    label: Label | None = None
    if saved:
        label = await ask_for_rating(ask)
        if label is not None:
            await _harmless("rating", record(label, "cli_end" if how == "end" else "cli_exit"), None)
        if summarise is not None:
            await _harmless("summary", summarise(), summary_seconds)
    say(FAREWELL)
    return Ended(label, saved)


def _wants_saving(answer: str | None) -> bool:
    return answer is not None and answer.strip().lower() not in ("n", "no")


async def _answered(ask: Ask, question: str) -> str | None:
    try:
        return await ask(question)
    except (EOFError, KeyboardInterrupt):
        return None


async def _harmless(what: str, work: Awaitable[object], seconds: float | None) -> None:
    try:
        await within(seconds, work)
    except Exception as error:
        log.warning("The session's %s failed (%s).", what, type(error).__name__)
