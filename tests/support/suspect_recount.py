"""Thousands of people who judge, a few of them spammers, and an independent recount of what is suspect."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable
from typing import Any, NamedTuple

from contracts.feedback import FeedbackCreated
from tests.support.reporting_events import feedback

SPAMMERS = 9
HONEST_BUT_BUSY = ("reviewer", "back-end", "kiosk", "angry", "importer")
SPAM = "spammer"
SECONDS = 1_000_000


class Crowd(NamedTuple):
    """Feedback of a crowd, and the ids of what its spammers gave, by spammer."""

    said: list[FeedbackCreated]
    spam: dict[str, list[Any]]


def crowd(seed: int, people: int) -> Crowd:
    """Return a day of verdicts: honest people, busy ones, and SPAMMERS who send the same within seconds."""
    choose = random.Random(seed)
    said: list[FeedbackCreated] = []

    def add(user: str, at: float, reaction: str, turn: str, conversation: str, **more: Any) -> None:
        name = f"{user} {conversation} {turn} {len(said)}"
        said.append(feedback(name, user=user, at=at, reaction=reaction, turn=turn, conversation=conversation, **more))

    for n in range(people):
        for k in range(choose.choice((1, 1, 1, 2, 3))):
            add(f"p{n}", choose.uniform(0, 86_400), choose.choices(("ok", "not_ok", "neutral"), (7, 2, 1))[0],
                f"t{n}-{k}", f"c{n}-{k % 2}")  # fmt: skip
    # A reviewer judges a turn every two seconds for hours, and quickly agrees now and then.
    at = 0.0
    for k in range(1_500):
        at += 0.6 if k % 100 < 15 else 2.0
        add("reviewer", at, "not_ok" if choose.random() < 0.15 else "ok", f"r{k}", f"rc{k % 700}", kind="explicit",
            source="api")  # fmt: skip
    # A back end that names nobody: everyone's judgements under one id, five a second.
    for k in range(1_500):
        add("back-end", 5_000 + k / 5, "ok" if choose.random() < 0.8 else "not_ok", f"b{k}", f"bc{k}",
            kind="explicit", source="api")  # fmt: skip
    # A kiosk: many people, one id, one judgement every few seconds, often the same for minutes.
    for k in range(600):
        add("kiosk", 10_000 + 6 * k + choose.uniform(0, 5), choose.choices(("ok", "not_ok"), (96, 4))[0], f"k{k}",
            f"kc{k}")  # fmt: skip
    # An angry person rejects every answer of one conversation within seconds, and one of another.
    for k in range(45):
        add("angry", 20_000 + 0.2 * k, "not_ok", f"a{k}", "angry-1" if k < 44 else "angry-2")
    # An import of dates without times.
    for k in range(900):
        add("importer", 30_000, "ok", f"i{k}", f"ic{k}", kind="explicit", source="api")
    spam: dict[str, list[Any]] = {}
    for n in range(SPAMMERS):
        before = len(said)
        at, speed = choose.uniform(0, 80_000), (4.0, 10.0, 40.0)[n % 3]
        for k in range((60, 300, 900)[n // 3]):
            add(f"{SPAM}{n}", at + k / speed, "not_ok" if n % 2 else "ok", f"s{n}-{k}", f"c{choose.randrange(9_000)}-0",
                agent=f"agent-{k % 7}")  # fmt: skip
        spam[f"{SPAM}{n}"] = [one.feedback_id for one in said[before:]]
    return Crowd(said, spam)


def suspects(said: Iterable[FeedbackCreated], limit: int = 60, turns: int = 20) -> dict[Any, str]:
    """Return the reason of each suspect verdict, from the rules as docs/suspects.md states them."""
    by_person: defaultdict[tuple[str, str, str], list[FeedbackCreated]] = defaultdict(list)
    newest: dict[Any, FeedbackCreated] = {}
    for one in said:
        if one.feedback_id not in newest or newest[one.feedback_id].revision < one.revision:
            newest[one.feedback_id] = one
    for one in newest.values():
        if one.reaction is not None and one.origin == "user" and one.user_type != "agent":
            by_person[one.tenant, one.project, one.user_id].append(one)
    found: dict[Any, str] = {}
    for verdicts in by_person.values():
        verdicts.sort(key=lambda one: (one.occurred_at, one.feedback_id))
        minutes: defaultdict[int, int] = defaultdict(int)
        for one in verdicts:
            if one.feedback_type == "reaction":
                minutes[one.occurred_at // (60 * SECONDS)] += 1
                if minutes[one.occurred_at // (60 * SECONDS)] > limit:
                    found[one.feedback_id] = "rate"
        if len(verdicts) < turns:
            continue
        windows: defaultdict[int, list[FeedbackCreated]] = defaultdict(list)
        for one in verdicts:
            windows[one.occurred_at // (10 * SECONDS)].append(one)
        full = {number for number, some in windows.items() if _is_full(some, turns)}
        for number, some in windows.items():
            if not any(number + step in full for step in (-1, 0, 1)):
                continue
            near = [one for other in windows if abs(other - number) <= 30 for one in windows[other]]
            if len({_content(one) for one in near}) == 1:
                found |= {one.feedback_id: "burst" for one in some}
    return found


def _is_full(some: list[FeedbackCreated], turns: int) -> bool:
    return (
        len({(one.conversation_id, one.turn_id) for one in some}) >= turns
        and len({one.conversation_id for one in some}) >= 5
        and len({one.occurred_at for one in some}) >= 3
        and len({_content(one) for one in some}) == 1
    )


def _content(one: FeedbackCreated) -> Any:
    return one.reaction, one.emoji, one.rating, one.text, one.tags, one.correction
