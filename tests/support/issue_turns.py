"""Rejected turns on known topics, and the job that groups them, with an encoder that knows the topics."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import asyncpg
import numpy as np

from contracts.instants import DAY
from detector.encoders.embedder import Vectors
from reporting.issues.job import IssueJob
from reporting.model.selection import Project
from tests.support.hand_clock import FixedClock
from tests.support.reporting_events import START, Event, feedback, message

AT: Final = Project("acme", "support")
NOW: Final = START + DAY
TOPICS: Final = ("refund money", "parcel delivery", "password reset")


class TopicEncoder:
    """Encoder for tests: one dimension for each topic, and a small one of its own for each text."""

    name = "topics"
    dimension = 64

    def embed(self, texts: Sequence[str]) -> Vectors:
        rows = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for row, text in enumerate(texts):
            for number, topic in enumerate(TOPICS):
                rows[row, number] = 4 * sum(word in text for word in topic.split())
            if text:
                rows[row, 3 + sum(text.encode()) % 61] = 1
        length = np.linalg.norm(rows, axis=1, keepdims=True)
        unit: Vectors = np.divide(rows, length, out=rows, where=length > 0)
        return unit


def issue_job(pool: asyncpg.Pool, now: int = NOW) -> IssueJob:
    return IssueJob(pool, FixedClock(now), TopicEncoder)


def rejected_turn(number: int, topic: str, **more: Any) -> Iterator[Event]:
    """Yield a question on a topic, its answer and a rejection: a person's, unless `kind` is "inferred".

    `after` is added to the time of the question; `slow` is the time from each of the three to the next. Times are in
    seconds. `name` makes the feedback's id unique among several projects.
    """
    at, slow = float(more.pop("at", 10 * number)) + more.pop("after", 0), more.pop("slow", 1)
    user, agent, version = more.pop("user", f"u{number}"), more.pop("agent", "bot"), more.pop("version", "1")
    name, kind = more.pop("name", ""), more.pop("kind", "explicit")
    about, words = more.pop("about", "About"), more.pop("words", "No.")
    place = {"conversation": f"{more.pop('thread', 'c')}{number}", **more}
    yield message(f"q{number}", turn=None, sender=user, content=f"{about} {topic}, case {number}", at=at, **place)
    yield message(
        f"a{number}",
        turn=f"t{number}",
        agent=agent,
        content="Here you are.",
        at=at + slow,
        agent_version=version,
        **place,
    )
    yield feedback(
        f"f{number}{name}", kind=kind, reaction="not_ok", text=words, user=user, agent=agent, agent_version=version,
        turn=f"t{number}", at=at + 2 * slow, agent_message_id=f"a{number}", **place,
    )  # fmt: skip


def rejected_turns(start: int, count: int, **more: Any) -> list[Event]:
    return [one for n in range(start, start + count) for one in rejected_turn(n, TOPICS[n % 3], **more)]
