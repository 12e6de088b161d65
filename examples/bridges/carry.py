"""Copies the effective feedback on traces to another tool. Each bridge in this folder is one `Target`.

    pip install aiokafka httpx
    python examples/bridges/to_phoenix.py --broker localhost:9092 --state phoenix.sqlite --url http://localhost:6006

The topic is read like the reference consumer does (examples/rlhf_consumer.py), with the state in one SQLite file: the
highest revision of each feedback record, and for each person and turn the newest that counts. If it belongs to an
answer with a `traceId`, it is written to the other tool. Feedback that no longer counts, because it was retracted,
replaced or erased, is removed there. Both actions may be repeated and are recorded afterwards, so a crash is harmless.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import signal
import sqlite3
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Protocol

import httpx
from aiokafka import ConsumerRecord

sys.path.insert(0, str(Path(__file__).parents[1]))
from rlhf_consumer import Rewards, follow, log_of  # the example one folder up

SCHEMA = """
create table if not exists carried (
    feedback_id text primary key,
    revision integer not null,
    trace_id text not null
);
create view if not exists wanted as
select feedback_id, feedback.revision, event ->> 'traceId' as trace_id, event
from effective join feedback using (feedback_id)
where event ->> 'traceId' is not null;
"""
MISSING = """
select wanted.event from wanted left join carried using (feedback_id)
where carried.feedback_id is null or carried.revision <> wanted.revision or carried.trace_id <> wanted.trace_id
"""
LEFT_OVER = """
select carried.feedback_id, carried.trace_id from carried left join wanted using (feedback_id)
where wanted.feedback_id is null or wanted.trace_id <> carried.trace_id
"""


class Target(Protocol):
    """Another tool. Both methods raise httpx.HTTPError if it does not respond or rejects the request."""

    def put(self, event: dict[str, Any]) -> bool:
        """Show a feedback record (its announcement) on its trace, replacing an older revision.

        Return False if there is no such trace yet.
        """
        ...

    def remove(self, feedback_id: str, trace_id: str) -> None:
        """Remove a feedback record. Missing ones are not an error."""
        ...


class Bridge(Rewards):
    """State of `Rewards`, with a record of the feedback that `target` already has."""

    def __init__(self, path: str, target: Target) -> None:
        super().__init__(path)
        self._database.executescript(SCHEMA)
        self._target = target

    def take(self, records: Sequence[ConsumerRecord]) -> None:
        super().take(records)
        self.carry()

    def carry(self) -> int:
        """Update the target to the state. Return the number of feedback records that wait for their trace."""
        waiting = 0
        for feedback_id, trace_id in self._database.execute(LEFT_OVER).fetchall():
            self._target.remove(feedback_id, trace_id)
            self._note("delete from carried where feedback_id = ?", feedback_id)
        for (text,) in self._database.execute(MISSING).fetchall():
            event = json.loads(text)
            if self._target.put(event):
                row = (event["feedbackId"], event["revision"], event["traceId"])
                self._note("insert or replace into carried (feedback_id, revision, trace_id) values (?, ?, ?)", *row)
            else:
                waiting += 1
        return waiting

    def _note(self, statement: str, *values: str | int) -> None:
        with self._database:
            self._database.execute(statement, values)


def annotator_of(event: dict[str, Any]) -> str:
    """Return HUMAN for a verdict of a person or a reviewer, CODE for one inferred from a message."""
    return "CODE" if event["origin"] == "machine" else "HUMAN"


def explanation_of(event: dict[str, Any]) -> str | None:
    """Return the person's comment on the answer, followed by the correction."""
    return "\n\n".join(part for part in (event["text"], event["correction"]) if part) or None


def parser_of(what: str, url: str) -> argparse.ArgumentParser:
    """Return the parser of the options that every bridge has."""
    parser = argparse.ArgumentParser(description=f"Carry feedback.created into {what}.")
    parser.add_argument("--broker", default="localhost:9092", help="HOST:PORT of the Kafka (default: %(default)s)")
    parser.add_argument("--run", type=Path, help="the state folder of a running `agent-feedback up`, for its log")
    parser.add_argument("--state", default="bridge.sqlite", help="the SQLite file (default: %(default)s)")
    parser.add_argument("--url", default=url, help=f"where {what} answers (default: %(default)s)")
    parser.add_argument("--once", action="store_true", help="catch up, and end")
    return parser


def run(options: argparse.Namespace, target: Target) -> None:
    """Transfer until a signal, or with `--once` up to the end of the topic. Ends if the target fails."""
    try:
        asyncio.run(_run(options, target))
    except (httpx.HTTPError, sqlite3.OperationalError) as error:
        # Run it again: it continues from its position.
        raise SystemExit(f"Nothing can be carried to {options.url}: {type(error).__name__}.") from None


async def _run(options: argparse.Namespace, target: Target) -> None:
    with closing(Bridge(options.state, target)) as bridge:
        bridge.carry()  # new traces, and actions that a crash interrupted
        work = asyncio.create_task(follow(log_of(options), bridge, once=options.once))
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, work.cancel)
        try:
            await work
        except asyncio.CancelledError:
            return
        if waiting := bridge.carry():
            print(f"{waiting} feedbacks wait for their trace.")
