"""The history of the sample: events, reviews, changes of issues and alerts, and their times within the month."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from contracts.instants import DAY, MINUTE, format_instant, parse_instant
from contracts.topics import EXPLICIT_RECEIVED, SESSION_CREATED
from reporting.issues.job import ISSUE_WORK
from reporting.queries.selection import Project, TimeSpan
from standalone.sample import history as sample_history
from standalone.sample.history import SampleHistory, issues_held
from standalone.sample.month import Month, PlannedAnswer, SessionEnding
from tests.support.logs import RecordingLog

NOW = parse_instant("2026-11-21T00:00:00Z")
AT = Project("demo", "support")
ANSWER = PlannedAnswer(
    "train-times", "c1", "t1", "m1", "q1", None, "ann", NOW - DAY, False, "At ten.",
    {"agentId": "trip-planner", "agentVersion": "3"},
)  # fmt: skip


class Database:
    """Pool and connection that record their statements."""

    def __init__(self) -> None:
        self.events: list[Any] = []
        self.rows: dict[str, list[dict[str, Any]]] = {}

    @asynccontextmanager
    async def acquire(self) -> AsyncIterator[Database]:
        yield self

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[None]:
        self.events.append("begin")
        yield
        self.events.append("commit")

    async def execute(self, statement: str, *_: object) -> None:
        self.events.append(statement)

    async def fetchval(self, statement: str, *_: object) -> bool:
        self.events.append(statement)
        return len(self.events) > 2

    async def fetch(self, statement: str, *values: object) -> list[dict[str, Any]]:
        return next((rows for agent, rows in self.rows.items() if agent in values), [])

    async def close(self) -> None:
        self.events.append("closed")


@pytest.fixture
def database(monkeypatch: pytest.MonkeyPatch) -> Database:
    """Return a database, and let the functions of the reporting service record their calls in it."""
    found = Database()

    def recording(name: str, result: Any = None) -> Any:
        async def called(*given: Any) -> Any:
            found.events.append((name, *given[1:]))
            return result

        return called

    for name in ("draw", "change", "recount", "set_rule"):
        monkeypatch.setattr(sample_history, name, recording(name))
    monkeypatch.setattr(sample_history, "stored_rules", recording("stored rules", []))
    return found


def history(database: Any, month: Month, log: RecordingLog | None = None) -> SampleHistory:
    return SampleHistory(database, "postgresql://sample", log or RecordingLog(), month, NOW)


async def test_judgements_and_ratings_are_published_at_their_times() -> None:
    month = Month(
        [], [ANSWER.judged("ann", NOW - 5 * MINUTE, "ok")], [SessionEnding("c1", "ann", "positive", NOW - MINUTE)], []
    )
    log = RecordingLog()
    for _ in range(2):
        await history(None, month, log).judge()
    first, rating, *again = log.messages
    assert [(one.topic, one.key, one.value) for one in again] == [
        (one.topic, one.key, one.value) for one in (first, rating)
    ], "it is safe to repeat"
    [judgement, _] = log.values(EXPLICIT_RECEIVED.name)
    assert (judgement["userId"], judgement["turnId"], judgement["reaction"], judgement["tenant"]) == (
        "ann", "t1", "ok", "demo"
    )  # fmt: skip
    assert judgement["occurredAt"] == format_instant(NOW - 5 * MINUTE)
    [said, _] = log.values(SESSION_CREATED.name)
    assert (said["label"], said["turnCountAtEnd"], said["recordedAt"]) == (
        "positive", 1, format_instant(NOW - MINUTE)
    )  # fmt: skip
    assert "c1" not in said["sessionIdOpaque"]


async def test_sixty_of_the_drawn_answers_are_reviewed(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = [replace(ANSWER, turn_id=f"t{n}", message_id=f"m{n}", is_bad=n % 2 == 1) for n in range(80)]
    asked: list[Any] = []

    async def pending(pool: object, *given: Any) -> list[Any]:
        asked.append(given)
        unknown = SimpleNamespace(conversation_id="c1", turn_id="of another file")
        return [unknown, *(SimpleNamespace(conversation_id="c1", turn_id=f"t{n}") for n in range(71))]

    monkeypatch.setattr(sample_history, "pending", pending)
    log = RecordingLog()
    await history(database, Month([], [], [], answers), log).review()
    assert database.events == [
        "select setseed(0.1)", ("draw", AT, TimeSpan(NOW - 30 * DAY, NOW), 72, NOW - DAY)
    ], "the same answers in each database"  # fmt: skip
    assert asked == [(AT, 0, 72)]
    reviews = log.values(EXPLICIT_RECEIVED.name)
    assert [one["turnId"] for one in reviews] == [f"t{n}" for n in range(59)]
    assert [one["reaction"] for one in reviews[:2]] == ["ok", "not_ok"]
    assert {(one["userId"], one["reviews"] == one["turnId"], one["occurredAt"]) for one in reviews} == {
        ("reviewer-ana", True, format_instant(NOW - DAY // 2))
    }


@pytest.fixture
def jobs(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return the times at which rejected turns were grouped. The packages for it count as installed."""
    times: list[int] = []

    class Process:
        def __init__(self, work: str, clock: Any, url: str, schema: str, _: object, options: dict[str, str]) -> None:
            self._clock = clock
            assert (work, url, schema) == (ISSUE_WORK, "postgresql://sample", "reporting")
            assert options == {"sentence_encoder": "auto"}

        async def run(self, *, is_locked: bool) -> None:
            assert is_locked
            times.append(self._clock.now())

        async def close(self) -> None:
            times.append(0)

    monkeypatch.setattr(sample_history, "ChildProcess", Process)
    monkeypatch.setattr(sample_history, "is_available", lambda: True)
    return times


async def test_the_issue_of_a_topic_is_the_one_with_most_of_its_turns(database: Database, jobs: list[int]) -> None:
    answers = [replace(ANSWER, turn_id=f"t{n}") for n in range(3)]
    answers += [replace(ANSWER, topic="weekly-totals", turn_id="w1", provenance={"agentId": "data-analyst"})]
    answers += [replace(ANSWER, topic="of no interest", turn_id="x1")]
    database.rows = {
        "trip-planner": [
            *({"conversation_id": "c1", "turn_id": turn, "issue_id": issue}
              for turn, issue in (("t0", 7), ("t1", 8), ("t2", 8), ("x1", 9), ("unknown", 10))),
        ],
        "data-analyst": [{"conversation_id": "c1", "turn_id": "w1", "issue_id": 11}],
    }  # fmt: skip
    await history(database, Month([], [], [], answers)).handle_issues()
    assert jobs == [NOW, 0], "the process must end"
    changes = {one[2]: one for one in database.events if one[0] == "change"}
    assert set(changes) == {8, 11}
    assert [one[2:] for one in database.events if one[0] == "recount"] == [([11], NOW - 4 * DAY), ([8], NOW)]
    totals, trains = changes[11], changes[8]
    assert (totals[3].state, totals[3].resolved_in, totals[4]) == ("resolved", "2.4.1", NOW - round(14.9 * DAY))
    assert (trains[3].state, trains[3].resolved_in, trains[4]) == ("resolved", "3.2.0", NOW - round(17.9 * DAY))
    assert database.events.count("commit") == 2


async def test_each_topic_is_handled_on_its_day(database: Database, jobs: list[int]) -> None:
    topics = ("router-setup", "weekly-totals", "train-times", "invoice-amount", "pandas-deprecated")
    answers = [replace(ANSWER, topic=topic, turn_id=topic) for topic in topics]
    database.rows = {
        "trip-planner": [{"conversation_id": "c1", "turn_id": topic, "issue_id": n} for n, topic in enumerate(topics)]
    }
    await history(database, Month([], [], [], answers)).handle_issues()
    changes = {topics[one[2]]: (one[3].state, (NOW - one[4]) / DAY) for one in database.events if one[0] == "change"}
    assert changes == {
        "router-setup": ("resolved", pytest.approx(13.9)), "weekly-totals": ("resolved", pytest.approx(14.9)),
        "train-times": ("resolved", pytest.approx(17.9)), "invoice-amount": ("open", 6),
        "pandas-deprecated": ("muted", 9),
    }  # fmt: skip


async def test_without_the_packages_for_issues_nothing_is_grouped(
    database: Database, jobs: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sample_history, "is_available", lambda: False)
    await history(database, Month([], [], [], [ANSWER])).handle_issues()
    assert (jobs, database.events) == ([], [])


@pytest.fixture
def evaluated(monkeypatch: pytest.MonkeyPatch, database: Database) -> Database:
    """Return the database, which records the times at which alerts are evaluated."""

    class Evaluator:
        def __init__(self, pool: object, _: object, clock: Any, __: object, waiting: Any) -> None:
            self._clock, self._waiting = clock, waiting

        async def evaluate(self) -> None:
            assert await self._waiting() == 0
            database.events.append(("evaluate", self._clock.now()))

    monkeypatch.setattr(sample_history, "AlertEvaluator", Evaluator)
    return database


async def test_alerts_are_evaluated_for_every_half_day_of_the_month(evaluated: Database) -> None:
    await history(evaluated, Month([], [], [], [])).raise_alerts()
    rules = [(one[2].name, one[1], one[3]) for one in evaluated.events if one[0] == "set_rule"]
    names = ["satisfaction-dropped", "trips-below-70", "silence", "fixed-issue-is-back", "new-issue"]
    assert rules == [(name, AT, NOW - 30 * DAY) for name in names]
    kinds = [one[0] for one in evaluated.events]
    assert kinds == ["stored rules", *["set_rule"] * 3, *["evaluate"] * 58, *["set_rule"] * 2, "evaluate"]
    times = [one[1] for one in evaluated.events if one[0] == "evaluate"]
    assert times == [*(NOW - 29 * DAY + n * DAY // 2 for n in range(58)), NOW - MINUTE]


async def test_rules_that_are_there_are_left_as_they_are(evaluated: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    async def stored_rules(_: object) -> list[str]:
        return ["a rule"]

    monkeypatch.setattr(sample_history, "stored_rules", stored_rules)
    await history(evaluated, Month([], [], [], [])).raise_alerts()
    assert evaluated.events == []


async def test_the_tables_have_statistics_for_the_first_exports(database: Database) -> None:
    await history(database, Month([], [], [], [])).gather_statistics()
    assert database.events == ["analyze"]


async def test_no_other_process_groups_the_sample_meanwhile(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def open_pool(url: str, service: str, *_: object, size: int, say: object) -> Database:
        assert size == 4
        database.events.append((url, service, say))
        return database

    monkeypatch.setattr(sample_history, "open_pool", open_pool)
    monkeypatch.setattr(sample_history, "_POLL_SECONDS", 0)
    with pytest.raises(ValueError, match="full"):
        async with issues_held("postgresql://x", print) as pool:
            assert pool is database  # type: ignore[comparison-overlap]  # a stub
            database.events.append("work")
            raise ValueError("full")
    opened, refused, lock, work, unlock, closed = database.events
    assert refused == lock, "the lock is waited for"
    assert (opened, work, closed) == (("postgresql://x", "reporting", print), "work", "closed")
    assert "pg_try_advisory_lock" in lock and "pg_advisory_unlock" in unlock
