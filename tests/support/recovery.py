"""Chat traffic with a known result, and the states that a recovery is compared with."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol
from uuid import UUID, uuid4

import asyncpg

from contracts.feedback import FeedbackCreated
from standalone.operations.ledger import Ledger, read_on
from tests.support.command import agent_feedback, said_at
from tests.support.recount import Said, recount
from tests.support.running_stack import message, reaction, reply

ALL_TIME = "earliest"


def events(first: int, last: int, *, takes_back: bool = False) -> list[dict[str, Any]]:
    """Return conversations `first` to `last`, each with an answer, a reply, a rejection in words and a reaction.

    `takes_back`: also removes the reactions of every second conversation before `first`.
    """
    found: list[dict[str, Any]] = []
    for n in range(first, last):
        at = f"2026-01-01T{n // 3600 % 24:02}:{n // 60 % 60:02}:{n % 60:02}"
        wrong = {"content": "No, that is wrong. It opens at ten.", "senderId": f"ann{n}", "occurredAt": f"{at}.4Z"}
        asked = {"senderId": f"ann{n}", "occurredAt": f"{at}.0Z", "eventId": f"e-q{n}"}
        found += [
            message(f"q{n}", f"c{n}", **asked),
            message(f"a{n}", f"c{n}", turn=f"t{n}", agent="bot", occurredAt=f"{at}.1Z", eventId=f"e-a{n}"),
            reply(message(f"r{n}", f"c{n}", **wrong), f"a{n}", eventId=f"e-r{n}"),
            _reaction(n, f"{at}.5Z", "added"),
        ]
    if takes_back:
        found += [_reaction(n, "2026-01-02T00:00:00Z", "removed") for n in range(0, first, 2)]
    return found


def _reaction(n: int, at: str, action: str) -> Any:
    given = {"user": f"ann{n}", "occurredAt": at, "eventId": f"re{n}{action}", "action": action}
    return reaction(f"a{n}", f"c{n}", "👎" if n % 3 else "👍", **given)


class Kafka(Protocol):
    """A Kafka with its addresses."""

    @property
    def bootstrap(self) -> str: ...


@dataclass
class Installation:
    """All services in one process for as long as a file takes, on a Kafka and a database that outlive it."""

    folder: Path
    kafka: Kafka
    database_url: str

    async def process(self, lines: Sequence[dict[str, Any]] = ()) -> None:
        """Run all services until `lines` and all earlier records are processed."""
        name = uuid4().hex
        file = self.folder / f"{name}.jsonl"
        file.write_text("".join(json.dumps(line) + "\n" for line in lines))
        done = await agent_feedback(
            *("up", "--exit", "--json", "--replay", file, "--state", self.folder / name),
            *("--broker", self.kafka.bootstrap, "--database", self.database_url),
        )
        assert done.code == 0, done.err

    async def command(self, *arguments: str, store: bool = True, code: int = 0) -> dict[str, Any]:
        """Run a command on the log (and the store); return its JSON."""
        further = ("--store", self.database_url) if store else ()
        done = await agent_feedback(*arguments, *further, "--broker", self.kafka.bootstrap, "--json")
        assert done.code == code, done.out + done.err
        return done.facts

    async def rebuild_reports(self) -> None:
        """Rebuild the reports from the store."""
        done = await agent_feedback(
            *("ledger", "rebuild", "--store", self.database_url, "--database", self.database_url, "--json")
        )
        assert done.code == 0, done.out + done.err

    async def ledger(self) -> Ledger:
        """Return a consumer's state after it has read all of `feedback.created`."""
        ledger = Ledger()
        await read_on(self.kafka.bootstrap, ledger)
        return ledger

    async def reported(self) -> set[tuple[UUID, int]]:
        """Return the feedback records of the reports with their revisions; each row counts."""
        connection = await asyncpg.connect(self.database_url)
        try:
            rows = await connection.fetch("select feedback_id, revision from reporting.feedbacks")
        finally:
            await connection.close()
        found = {(row["feedback_id"], row["revision"]) for row in rows}
        assert len(found) == len(rows), "a feedback record is reported twice"
        return found


def contents(ledger: Ledger) -> dict[UUID, dict[str, Any]]:
    """Return what each feedback record says, without the fields that count its announcements."""
    counting = {"event_id", "revision", "recorded_at", "change"}
    return {id_: event.model_dump(exclude=counting) for id_, event in ledger.highest.items()}


def fell_back(before: Ledger, after: Ledger) -> dict[UUID, FeedbackCreated | None]:
    """Return the records whose last revision is lower than before, or which are gone."""
    return {
        id_: after.highest.get(id_)
        for id_, event in before.highest.items()
        if id_ not in after.highest or after.highest[id_].revision < event.revision
    }


async def assert_recovered(place: Installation, before: Ledger, lines: Sequence[dict[str, Any]]) -> None:
    """Assert that store, ledger and reports have exactly the feedback in `lines`, and revisions did not fall."""
    await assert_said(place.database_url, lines)
    facts = await place.command("ledger", "verify")
    assert facts["first_difference"] is None, facts
    after = await place.ledger()
    assert not fell_back(before, after)
    assert contents(after) == contents(before)
    assert await place.reported() == {(id_, event.revision) for id_, event in after.highest.items()}


async def assert_said(database_url: str, lines: Sequence[dict[str, Any]]) -> None:
    """Assert that the store has exactly the live replies and reactions of people in `lines`."""
    said, expected = await said_at(database_url), recount(json.dumps(line).encode() for line in lines)
    assert said == expected, (_sample(said - expected), _sample(expected - said))


def _sample(said: set[Said]) -> list[Said]:
    return sorted(said, key=repr)[:3]


async def wait_for_primary(url: str) -> None:
    """Wait until a restored server has ended its recovery."""
    connection = await asyncpg.connect(url)
    try:
        async with asyncio.timeout(120):
            while await connection.fetchval("select pg_is_in_recovery()"):
                await asyncio.sleep(0.05)
    finally:
        await connection.close()
