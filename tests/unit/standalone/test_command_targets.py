"""Servers that the commands on a log and a store work on: those given, those of the run, or those of the settings."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest

from inference.differences import Differences
from reporting.read_models.generation import Switched
from standalone.operations.ledger import Republished
from standalone.operations.log_access import LogTarget
from standalone.operations.rebuild import Rebuilt
from standalone.operations.rejudge import Rejudged
from tests.support.command import Ended, agent_feedback_here

RUN = {"log": "memory", "broker": "run:1", "database": "postgresql://run", "groups": ["feedback"]}
SETTINGS = {
    "INFERENCE_DATABASE_URL": "postgresql://settings", "INFERENCE_BROKER": "settings:1",
    "FEEDBACK_STORE_URL": "postgresql://settings-store", "FEEDBACK_BROKER": "settings:1",
    "REPORTING_DATABASE_URL": "postgresql://settings",
}  # fmt: skip


class Store:
    """Feedback store that has the record number 7."""

    async def totals(self) -> SimpleNamespace:
        return SimpleNamespace(stored=3)

    async def load(self, ids: list[UUID]) -> dict[UUID, str]:
        return {one: "record" for one in ids if one.int == 7}


class Work:
    """Operations of the commands, which record the servers that they are given."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.calls: list[tuple[Any, ...]] = []

        @asynccontextmanager
        async def store_of(target: LogTarget) -> AsyncIterator[Store]:
            self.calls.append(("store", str(target.bootstrap), target.store_url))
            yield Store()

        @asynccontextmanager
        async def writing_to(target: LogTarget) -> AsyncIterator[str]:
            self.calls.append(("writer", str(target.bootstrap), target.groups))
            yield "producer"

        monkeypatch.setattr("standalone.operations.log_access.store_of", store_of)
        monkeypatch.setattr("standalone.operations.log_access.writing_to", writing_to)
        for module, name, result in (
            ("rejudge", "rejudge_database", Rejudged(None, "d1", 0, Differences(Counter(), {}))),
            ("rebuild", "rebuild_reporting", Rebuilt(3, {}, Switched(0, 0))),
            ("ledger", "republish", Republished(3)), ("restored_store", "raise_above_ledger", 2),
            ("ledger", "clear_junk", 1),
            ("ledger", "verify", {"stored": 3, "unreadable": 0, "first_difference": None}),
        ):  # fmt: skip
            monkeypatch.setattr(f"standalone.operations.{module}.{name}", self._recording(name, result))
        for name, value in SETTINGS.items():
            monkeypatch.setenv(name, value)

    def _recording(self, name: str, result: Any) -> Any:
        async def called(*given: Any, **more: Any) -> Any:
            self.calls.append((name, given, more))
            if name == "clear_junk":
                self.calls.append(tuple([await given[2](UUID(int=n)) for n in (7, 8)]))
            return result

        return called


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> Work:
    return Work(monkeypatch)


def ended(state: Path, *command: str, runs: bool = True) -> Ended:
    if runs:
        (state / "run.json").write_text(json.dumps(RUN))
    return agent_feedback_here(*command, "--state", state)


@pytest.mark.parametrize(
    ("runs", "options", "database", "broker", "groups"),
    [
        (False, [], "postgresql://settings", "settings:1", ()),
        (False, ["--database", "postgresql://given"], "postgresql://given", "settings:1", ()),
        (False, ["--broker", "given:1"], "postgresql://settings", "given:1", ()),
        (True, [], "postgresql://run", "run:1", ("feedback",)),
        (True, ["--database", "postgresql://given"], "postgresql://given", "run:1", ("feedback",)),
        (True, ["--broker", "given:1"], "postgresql://run", "given:1", ()),
    ],
)
def test_rejudge_works_on_the_given_servers_or_those_of_the_run_or_the_settings(
    work: Work, tmp_path: Path, runs: bool, options: list[str], database: str, broker: str, groups: tuple[str, ...]
) -> None:
    done = ended(tmp_path, "rejudge", "--since", "1970-01-01T00:00:01Z", *options, runs=runs)
    assert done.code == 0, done.err
    [(_, (settings, target, since), more)] = work.calls
    assert (settings.database_url, str(target.bootstrap), target.groups) == (database, broker, groups)
    assert (since, more["dry_run"], more["force"]) == (1_000_000, False, False)
    advance = more["open_progress"](10, 4)
    advance(6)


def test_a_dry_run_of_rejudge_needs_a_time(work: Work, tmp_path: Path) -> None:
    refused = ended(tmp_path, "rejudge", "--dry-run")
    assert (refused.code, refused.err, work.calls) == (2, "--dry-run needs --since.\n", [])
    assert ended(tmp_path, "rejudge", "--dry-run", "--since", "1970-01-01T00:00:01Z", "--force").code == 0
    assert (work.calls[0][2]["dry_run"], work.calls[0][2]["force"]) == (True, True)
    assert ended(tmp_path, "rejudge").code == 0, "it continues the stopped run"
    assert work.calls[1][1][2] is None


@pytest.mark.parametrize(
    ("runs", "options", "store", "reports"),
    [
        (False, [], "postgresql://settings-store", "postgresql://settings"),
        (True, [], "postgresql://run", "postgresql://run"),
        (True, ["--store", "postgresql://s"], "postgresql://s", "postgresql://run"),
        (True, ["--database", "postgresql://d"], "postgresql://run", "postgresql://d"),
    ],
)
def test_rebuild_reads_a_store_and_writes_the_reports(
    work: Work, tmp_path: Path, runs: bool, options: list[str], store: str, reports: str
) -> None:
    done = ended(tmp_path, "rebuild", "reporting", *options, runs=runs)
    assert done.code == 0, done.err
    opened, (name, given, _) = work.calls
    assert opened == ("store", "settings:1", store)
    assert (name, given[1]) == ("rebuild_reporting", reports)


@pytest.mark.parametrize("restored", [False, True])
def test_republish_raises_the_revisions_of_a_restored_store_first(work: Work, tmp_path: Path, restored: bool) -> None:
    done = ended(tmp_path, "republish", *(["--restored"] if restored else []))
    assert done.code == 0, done.err
    names = [call[0] for call in work.calls]
    assert names == ["store", "writer", *(["raise_above_ledger"] if restored else []), "republish"]
    assert work.calls[:2] == [("store", "run:1", "postgresql://run"), ("writer", "run:1", ("feedback",))]
    assert ("Raised the revision of 2 feedback records." in done.err) is restored
    work.calls.clear()
    assert ended(tmp_path, "republish", "--broker", "given:1", "--store", "postgresql://s").code == 0
    assert work.calls[0] == ("store", "given:1", "postgresql://s")


def test_verify_ledger_clears_what_announces_nothing_on_request(work: Work, tmp_path: Path) -> None:
    assert ended(tmp_path, "verify-ledger").code == 0
    assert [call[0] for call in work.calls] == ["store", "verify"]
    assert str(work.calls[1][1][0]) == "run:1"
    work.calls.clear()
    assert ended(tmp_path, "verify-ledger", "--clear", "--json").code == 0
    assert [call[0] for call in work.calls] == ["store", "writer", "clear_junk", True, "verify"]
    assert work.calls[3] == (True, False), "the store knows one of the two records"


def test_dead_letters_are_those_of_the_run_or_the_given_broker(
    work: Work, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []

    async def letters(bootstrap: object, wanted: Any) -> AsyncIterator[Any]:
        asked.append((str(bootstrap), wanted.reason, wanted.topic, wanted.since, wanted.until))
        return
        yield

    async def replay(found: Any, *given: Any) -> dict[str, int]:
        assert [one async for one in found] == []
        return dict.fromkeys(("sent", "letters", "repeats", "empty", "too_large"), 0)

    monkeypatch.setattr("standalone.operations.dlq.letters", letters)
    monkeypatch.setattr("standalone.operations.dlq.replay", replay)
    times = ["--since", "1970-01-01T00:00:01Z", "--until", "1970-01-01T00:00:02Z"]
    filters = ["--reason", "future", "--topic", "t", *times]
    for more in ([], ["--broker", "given:1"]):
        assert ended(tmp_path, "dlq", "list", *filters, *more).code == 0
        done = ended(tmp_path, "dlq", "replay", *filters, *more, "--json")
        assert (done.code, done.facts["letters"]) == (0, 0)
        assert ended(tmp_path, "dlq", "show", "t.dlq:0:1", *more).code == 1
    given = ("future", "t", 1_000_000, 2_000_000)
    shown = (None, "t.dlq", None, None)
    assert asked == [
        ("run:1", *given), ("run:1", *given), ("run:1", *shown),
        ("given:1", *given), ("given:1", *given), ("given:1", *shown),
    ]  # fmt: skip
    assert [call[:2] for call in work.calls] == [("writer", "run:1"), ("writer", "given:1")]
    assert ended(tmp_path, "dlq", "replay", "--yes").code == 0
    assert ended(tmp_path, "dlq", "replay", "--reason", "x").code == 0, "a filter needs no confirmation"
