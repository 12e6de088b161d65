"""Quality and speed of issues: agreement with known topics, time of the daily grouping, of arrivals and of the pages.

    python -m benchmarks.issue_groups [--encoder auto] [--turns N] [--arrivals N] [--sample CONVERSATIONS.JSONL]

Quality: 200 rejected turns in 20 topics and 20 strays, written for this benchmark (issue_topics.toml), in eight
compositions of answers and complaints. Agreement is the adjusted Rand index; a turn without issue, like a stray, is a
topic of its own. The baseline is agglomerative clustering of TF-IDF, with the best of 20 settings for each composition.
Speed: one agent, PostgreSQL embedded, vectors of the same texts with noise. `--sample` groups the turns of a recording
that people labelled as rejected, and prints titles, which are not written anywhere.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import time
import tomllib
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from statistics import mean, median
from tempfile import TemporaryDirectory
from typing import Any, Final, NamedTuple
from uuid import uuid4

import asyncpg
import numpy as np
from sklearn.cluster import AgglomerativeClustering
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import adjusted_rand_score

from contracts.instants import DAY, SECOND
from detector.encoders.embedder import Embedder, Vectors, unit_rows
from reporting.issues.encoding import least_coherence
from reporting.issues.grouping import centre_of, grouped, nearest, packed, turn_vectors
from reporting.issues.job import IssueJob, issue_encoder
from reporting.issues.reading import find_issue, list_issues
from reporting.issues.store import AgentScope
from reporting.issues.words import titles, words_of
from reporting.model.selection import Project
from reporting.parts import SCHEMA
from servicekit.clock import FixedClock
from servicekit.db.pools import open_pool
from standalone.embedded.postgres import EmbeddedPostgres

TOPICS: Final = Path(__file__).with_name("issue_topics.toml")
COMPOSITIONS: Final = 8
NOW: Final = 1_790_000_000_000_000
AGENT: Final = AgentScope("acme", "support", "agent")
AT: Final = Project("acme", "support")
THRESHOLDS: Final = {
    "average": (0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95),
    "complete": (0.7, 0.8, 0.85, 0.9, 0.95, 0.98),
    "ward": (1.0, 1.2, 1.4, 1.6, 2.0, 2.5),
}


class Case(NamedTuple):
    """A rejected turn and its topic. A stray turn has a topic of its own."""

    question: str
    answer: str
    complaint: str
    topic: int


def cases(seed: int) -> list[Case]:
    """Return all turns in random order. Half of the answers and a quarter of the complaints name the turn's topic."""
    chance, written = random.Random(seed), tomllib.loads(TOPICS.read_text("utf-8"))
    complaints, answers = written["complaints"], written["answers"]
    made = [
        Case(question, _one_of(chance, topic["answers"], answers, 0.5),
             _one_of(chance, topic["complaints"], complaints, 0.25), number)
        for number, topic in enumerate(written["topic"])
        for question in topic["questions"]
    ]  # fmt: skip
    strays = enumerate(written["strays"], len(written["topic"]))
    made += [Case(one, chance.choice(answers), chance.choice(complaints), number) for number, one in strays]
    chance.shuffle(made)
    return made


def _one_of(chance: random.Random, own: Sequence[str], any_topics: Sequence[str], share: float) -> str:
    return chance.choice(own if chance.random() < share else any_topics)


def vectors_of(encoder: Embedder, rows: Sequence[Case]) -> Vectors:
    """Return the turns' vectors, shape (turns, width). Each distinct text is encoded once."""
    said = [(one.question, one.answer, one.complaint) for one in rows]
    texts = {text: row for row, text in enumerate({text for one in said for text in one})}
    encoded = encoder.embed(list(texts))
    questions, answers, complaints = (encoded[[texts[one[part]] for one in said]] for part in range(3))
    return turn_vectors(questions, answers, complaints)


def placed(vectors: Vectors, coherence: float, known: Sequence[int | None] = ()) -> list[int | None]:
    """Return the issue of each turn after grouping. `known` has the existing issues of the first turns."""
    issues = [*known, *[None] * (len(vectors) - len(known))]
    groups = grouped(vectors, issues, coherence)
    for row, issue in groups.joined.items():
        issues[row] = issue
    first = max((one for one in issues if one is not None), default=-1) + 1
    for issue, members in enumerate(groups.new, first):
        for row in members:
            issues[row] = issue
    return joined(vectors, issues)


def joined(vectors: Vectors, issues: Sequence[int | None]) -> list[int | None]:
    """Return the issue of each turn, after turns without an issue have joined the nearest issue within its radius."""
    known = sorted({one for one in issues if one is not None})
    centres = [centre_of(vectors[[row for row, one in enumerate(issues) if one == issue]]) for issue in known]
    found = nearest(vectors, centres)
    return [
        issue if issue is not None or number is None else known[number]
        for issue, number in zip(issues, found, strict=True)
    ]


def agreement(rows: Sequence[Case], issues: Sequence[int | None]) -> float:
    """Return the adjusted Rand index. Each turn without an issue counts as its own group."""
    alone = iter(range(-1, -len(rows) - 1, -1))
    named = [next(alone) if one is None else one for one in issues]
    return float(adjusted_rand_score([one.topic for one in rows], named))


def baseline(rows: Sequence[Case]) -> float:
    """Return the best agreement of agglomerative clustering on TF-IDF features."""
    texts = [f"{one.question} {one.complaint}" for one in rows]
    features = TfidfVectorizer(stop_words="english", sublinear_tf=True).fit_transform(texts).toarray()
    return max(
        agreement(rows, AgglomerativeClustering(
            n_clusters=None, distance_threshold=threshold, linkage=linkage,
            metric="euclidean" if linkage == "ward" else "cosine",
        ).fit_predict(features).tolist())
        for linkage, thresholds in THRESHOLDS.items()
        for threshold in thresholds
    )  # fmt: skip


def quality(encoder: Embedder) -> None:
    """Print the agreement of issues with the known topics."""
    coherence = least_coherence(encoder)
    found: dict[str, list[float]] = {"grouped at once": [], "half arrives later": [], "TF-IDF, agglomerative": []}
    for seed in range(COMPOSITIONS):
        rows = cases(seed)
        vectors = vectors_of(encoder, rows)
        found["grouped at once"].append(agreement(rows, placed(vectors, coherence)))
        half = placed(vectors[: len(rows) // 2], coherence)
        arrived = joined(vectors, [*half, *[None] * (len(rows) - len(half))])
        found["half arrives later"].append(agreement(rows, placed(vectors, coherence, arrived)))
        found["TF-IDF, agglomerative"].append(baseline(rows))
    for name, values in found.items():
        print(f"  {name:24} {mean(values):.2f} (lowest {min(values):.2f}, highest {max(values):.2f})")


def recorded(encoder: Embedder, path: Path) -> None:
    """Print the issues of a recording's rejected turns."""
    rows = list(_rejected(path))
    issues = placed(vectors_of(encoder, rows), least_coherence(encoder))
    sizes = Counter(one for one in issues if one is not None)
    words = {
        issue: [words_of(one.question, one.complaint) for one, of in zip(rows, issues, strict=True) if of == issue]
        for issue in sizes
    }
    print(f"  {len(rows)} rejected turns: {len(sizes)} issues with {sizes.total()} turns")
    for issue, title in titles(words).items():
        print(f"  {sizes[issue]:4}  {', '.join(title)}")


def _rejected(path: Path) -> Iterator[Case]:
    for line in path.read_text("utf-8").splitlines():
        turns = json.loads(line)["turns"]
        for turn, following in pairwise(turns):
            if turn.get("human_label") == "rejected" and following.get("user"):
                said = turn.get("user") or {"text": ""}
                yield Case(said["text"], (turn.get("assistant") or {"text": ""})["text"], following["user"]["text"], 0)


async def speed(encoder: Embedder, turns: int, arrivals: int) -> None:
    """Print the durations of arrivals, of the daily grouping and of reads."""
    with TemporaryDirectory() as folder:
        server = EmbeddedPostgres(Path(folder) / "data")
        await server.start()
        try:
            pool = await open_pool(server.url, "reporting", SCHEMA, size=2)
            await _measure(pool, encoder, turns, arrivals)
            await pool.close()
        finally:
            await server.stop()


async def _measure(pool: asyncpg.Pool, encoder: Embedder, turns: int, arrivals: int) -> None:
    rows = cases(0)
    vectors = vectors_of(encoder, rows)
    await _fill(pool, encoder.name, rows, vectors, turns)
    job = IssueJob(pool, FixedClock(NOW), lambda: encoder)
    print(f"  grouping of {turns} turns without issue: {await _timed(job.catch_up)}")
    await pool.execute("update issue_turns set issue_id = null where hashtext(turn_id) % 5 = 0")
    next_day = IssueJob(pool, FixedClock(NOW + DAY), lambda: encoder)
    print(f"  the next day's grouping: {await _timed(next_day.catch_up)}")
    await _arrive(pool, rows, arrivals)
    print(f"  {arrivals} arrivals, encoded: {await _timed(next_day.catch_up)}")
    issues = await list_issues(pool, AT, NOW + DAY)
    largest = issues[0].id
    for name, read in (
        ("list", lambda: list_issues(pool, AT, NOW + DAY)),
        ("largest issue", lambda: find_issue(pool, AT, largest, NOW + DAY)),
    ):
        times = [await _seconds(read) for _ in range(30)]
        print(f"  {name}: {1000 * median(times):.0f} ms in the median, {1000 * max(times):.0f} ms at most")


async def _timed(work: Callable[[], Awaitable[object]]) -> str:
    began, used = time.perf_counter(), time.process_time()
    await work()
    wall, own = time.perf_counter() - began, time.process_time() - used
    return f"{wall:.1f} s, {own:.1f} s of them processor time of this process"


async def _seconds(work: Callable[[], Awaitable[object]]) -> float:
    began = time.perf_counter()
    await work()
    return time.perf_counter() - began


async def _fill(pool: asyncpg.Pool, encoder: str, rows: Sequence[Case], vectors: Vectors, turns: int) -> None:
    """Insert turns without an issue. A fifth of them belong to no topic."""
    chance = np.random.default_rng(0)
    picked = chance.integers(0, len(rows), turns)
    noise = unit_rows(chance.normal(size=(turns, vectors.shape[1])).astype(np.float32))
    strength = np.where(chance.random(turns) < 0.2, 3.0, 0.5).astype(np.float32)[:, None]
    made = unit_rows(vectors[picked] + strength * noise)
    records: list[tuple[Any, ...]] = []
    for n, row in enumerate(picked.tolist()):
        stored, said = packed(made[n]), rows[row]
        at = NOW - (n + 1) * 30 * SECOND
        place = (*AGENT[:2], f"n{n}", f"n{n}", AGENT.agent_id, f"v{n * 5 // turns}")
        records.append((*place, f"u{n % 5000}", f"u{n % 5000}",
                        n % 4 == 0, at, at, encoder, stored, stored, words_of(said.question, "")))  # fmt: skip
    columns = ("tenant", "project", "conversation_id", "turn_id", "agent_id", "agent_version", "user_id", "asker_id",
               "by_person", "occurred_at", "asked_at", "encoder", "vector", "question", "words")  # fmt: skip
    await pool.copy_records_to_table("issue_turns", records=records, columns=columns)
    await pool.execute("analyze")


async def _arrive(pool: asyncpg.Pool, rows: Sequence[Case], count: int) -> None:
    """Insert questions, answers and rejections."""
    said, judged = [], []
    for n in range(count):
        one, at = rows[n % len(rows)], NOW + n * SECOND
        place = ("acme", "support", f"c{n}")
        for kind, text, sender, turn, moment in (
            ("human", one.question, f"u{n}", None, at), ("agent", one.answer, "agent", f"t{n}", at + 1),
        ):  # fmt: skip
            version = b"\x01" + moment.to_bytes(8, "big") + b"\0"
            said.append((*place, f"{kind}{n}", turn, kind, sender, text, moment, -1, version, "v1"))
        judged.append((*place, f"t{n}", f"u{n}", f"agent{n}", one.complaint, at + 2))
    columns = ("tenant", "project", "conversation_id", "message_id", "turn_id", "sender_type", "sender_id", "content",
               "occurred_at", "sequence", "version", "agent_version")  # fmt: skip
    await pool.copy_records_to_table("messages", records=said, columns=columns)
    same: dict[str, Any] = {
        "revision": 1, "recorded_at": NOW, "user_type": "human", "agent_id": "agent", "origin": "user",
        "feedback_type": "explicit", "source": "chat", "reaction": "not_ok", "value": -1.0, "confidence": 1.0,
        "tags": [], "rn": "rn",
    }  # fmt: skip
    own = ("tenant", "project", "conversation_id", "turn_id", "user_id", "agent_message_id", "text", "occurred_at")
    records = [(*one, uuid4(), uuid4(), *same.values()) for one in judged]
    await pool.copy_records_to_table("feedbacks", records=records, columns=[*own, "feedback_id", "slot", *same])
    await pool.execute("analyze")


def main() -> None:
    """Run the measurements and print the results."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.issue_groups", description=__doc__)
    parser.add_argument("--encoder", default="auto", help="as REPORTING_SENTENCE_ENCODER")
    parser.add_argument("--turns", type=int, default=50_000, help="turns of the daily grouping; 0: no speed")
    parser.add_argument("--arrivals", type=int, default=5_000)
    parser.add_argument("--sample", type=Path, help="recorded conversations with labelled turns")
    asked = parser.parse_args()
    encoder = issue_encoder(asked.encoder)
    print(f"Agreement with known topics ({encoder.name}), {COMPOSITIONS} compositions:")
    quality(encoder)
    if asked.sample:
        print("Recording:")
        recorded(encoder, asked.sample)
    if asked.turns:
        print("Speed:")
        asyncio.run(speed(encoder, asked.turns, asked.arrivals))


if __name__ == "__main__":
    main()
