"""Reads `feedback.created` and stores the effective reward of every turn in one SQLite file.

    pip install aiokafka
    python examples/rlhf_consumer.py --broker localhost:9092 --state rewards.sqlite            # follow the topic
    python examples/rlhf_consumer.py --broker localhost:9092 --state rewards.sqlite --once     # catch up and print
    python examples/rlhf_consumer.py --run .agent-feedback --state rewards.sqlite --once       # of `agent-feedback up`

Copy it: it imports nothing of agent-feedback. It shows the five rules for consumers of the topic (docs/events.md).

1. The topic is compacted and complete: begin at offset 0, and store your offsets with your data in one transaction.
   Then a crash at any point is harmless, and a repeated record changes nothing. Continue only in the log that you
   have read: a recreated topic has other records at the same offsets.
2. The highest `revision` of each feedbackId counts, in any order of arrival.
3. A record without a value is a tombstone: the person was erased. Delete everything up to its revision (header
   `revision`), and keep only the id and that revision, so that an older announcement cannot restore the feedback.
4. Of one person's feedback on one turn only the newest counts: explicit feedback, even if it was retracted, or an
   emoji that is still present. Retracted explicit feedback overrides an older emoji. Machine verdicts add up. Of a
   turn's reviews (origin `reviewer`) the newest live one counts, whoever wrote it; the machine's verdicts on that turn
   are announced as cleared. A reply is engagement: it has a value and no reaction, and this rule ignores it.
5. Against spam, only the first 60 replies and emoji of a person in a minute of occurredAt count. Judgements are limited
   by the platform when they arrive.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import signal
import sqlite3
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from aiokafka import AIOKafkaConsumer, ConsumerRecord
from aiokafka.errors import KafkaConnectionError

TOPIC = "feedback.created"
_DIGITS = 18  # of a revision at most: SQLite's integers have 64 bits
log = logging.getLogger("rlhf_consumer")

SCHEMA = """
create table if not exists feedback (
    feedback_id text primary key,
    revision integer not null,
    event text                     -- the newest announcement as JSON; null after a tombstone
);
create table if not exists last_read (
    partition integer primary key,
    last_offset integer not null,
    log_time integer not null      -- of the record there: in another log another record stands there
);
drop view if exists feedback_shown;
create view feedback_shown as
select feedback_id, revision,
       event ->> 'tenant' as tenant, event ->> 'project' as project, event ->> 'conversationId' as conversation_id,
       event ->> 'turnId' as turn_id, event ->> 'userId' as user_id, event ->> 'agentId' as agent_id,
       event ->> 'origin' as origin, event ->> 'feedbackType' as feedback_type, event ->> 'reaction' as reaction,
       event ->> 'source' as source, event ->> 'userType' as user_type, event ->> 'text' as text,
       event ->> 'questionMessageId' as question_message_id, event ->> 'threadId' as thread_id,
       event ->> 'value' as value, event ->> 'confidence' as confidence, event ->> 'occurredAt' as occurred_at
from feedback where event is not null;
-- Times are UTC with six digits, so their text sorts as they do.
-- The first 60 replies and emoji of a person in each minute, of those that are not taken back.
drop view if exists in_limit;
create view in_limit as
select * from (
    select *, case when feedback_type in ('implicit', 'reaction') and value is not null then row_number() over (
        partition by tenant, user_id, substr(occurred_at, 1, 16),
                     feedback_type in ('implicit', 'reaction') and value is not null
        order by occurred_at, feedback_id) end as in_minute
    from feedback_shown)
where in_minute is null or in_minute <= 60;
drop view if exists effective;
create view effective as
select * from (
    select *, row_number() over (
        partition by tenant, project, conversation_id, turn_id,
                     case when origin = 'machine' then feedback_id when source <> 'review' then user_id end
        order by occurred_at desc, feedback_id desc) as place
    from in_limit
    where feedback_type <> 'implicit' and (reaction is not null or feedback_type = 'explicit' and source <> 'review'))
where place = 1 and reaction is not null;
drop view if exists replies;
create view replies as select * from in_limit where feedback_type = 'implicit' and value is not null;
"""
COLUMNS = (
    "tenant, project, conversation_id, thread_id, turn_id, question_message_id, agent_id, user_id, user_type, origin, "
    "feedback_type, reaction, value, confidence, occurred_at, feedback_id"
)


class Rewards:
    """State of a learner in one SQLite file. Every `take` is one transaction."""

    def __init__(self, path: str) -> None:
        self._database = sqlite3.connect(path)
        self._database.execute("pragma journal_mode = wal")
        self._database.execute("pragma synchronous = full")
        self._database.executescript(SCHEMA)

    def close(self) -> None:
        self._database.close()

    def last_read(self) -> dict[int, tuple[int, int]]:
        """Return the offset and time of the last record read, by partition."""
        rows = self._database.execute("select partition, last_offset, log_time from last_read")
        return {partition: (offset, time) for partition, offset, time in rows}

    def take(self, records: Sequence[ConsumerRecord]) -> None:
        """Apply records of the topic and store their offsets, in one transaction."""
        with self._database:
            for record in records:
                change = change_of(record)
                if change is not None:
                    self._database.execute(
                        "insert into feedback (feedback_id, revision, event) values (?, ?, ?) "
                        "on conflict (feedback_id) do update set revision = excluded.revision, event = excluded.event "
                        "where excluded.revision > feedback.revision "
                        "or (excluded.revision = feedback.revision and excluded.event is null)",
                        change,
                    )
                self._database.execute(
                    "insert into last_read (partition, last_offset, log_time) values (?, ?, ?) on conflict (partition) "
                    "do update set last_offset = excluded.last_offset, log_time = excluded.log_time",
                    (record.partition, record.offset, record.timestamp),
                )

    def effective(self) -> Iterator[dict[str, Any]]:
        """Yield effective feedback, each record with its reward in `value` (-1 to 1) and its `confidence`.

        `user_type` is `agent` if another agent gave it; `question_message_id` and `thread_id` are null if not known.
        """
        yield from self._rows("effective")

    def replies(self) -> Iterator[dict[str, Any]]:
        """Yield replies to answers: engagement, with a small reward and no verdict. They are not in `effective`."""
        yield from self._rows("replies")

    def _rows(self, view: str) -> Iterator[dict[str, Any]]:
        order = "tenant, project, conversation_id, turn_id, occurred_at, feedback_id"
        cursor = self._database.execute(f"select {COLUMNS} from {view} order by {order}")
        names = [column[0] for column in cursor.description]
        for row in cursor:
            yield dict(zip(names, row, strict=True))


def change_of(record: ConsumerRecord) -> tuple[str, int, str | None] | None:
    """Return the feedback id, revision and announcement (None: erased) of a record; None for foreign records."""
    if record.value is None:
        if record.key is None:
            return None
        named = dict(record.headers or ()).get("revision") or b""
        revision = int(named) if named.isdigit() and len(named) <= _DIGITS else record.timestamp
        return record.key.decode("utf-8", "replace"), revision, None
    try:
        event = json.loads(record.value, parse_constant=_refused)
        feedback_id, revision = event["feedbackId"], event["revision"]
        text = json.dumps(event, ensure_ascii=False, allow_nan=False)  # 1e999 is read as infinity
        text.encode()  # SQLite rejects lone surrogates
        if not isinstance(feedback_id, str) or type(revision) is not int or not 0 <= revision < 10**_DIGITS:
            raise ValueError
        return feedback_id, revision, text
    except (ValueError, KeyError, TypeError, RecursionError):
        log.warning("partition %d offset %d is no announcement; left out", record.partition, record.offset)
        return None


def _refused(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")


def log_of(options: argparse.Namespace) -> dict[str, str]:
    """Return the connection to the Kafka at `--broker`, or to that of a running `agent-feedback up`."""
    if options.run is None:
        return {"bootstrap_servers": options.broker}
    try:
        run = json.loads((options.run / "run.json").read_text())
    except (OSError, ValueError):
        raise SystemExit(f"Nothing runs on {options.run}: start it with `agent-feedback up`.") from None
    return {"bootstrap_servers": run["broker"]}


async def follow(log: Mapping[str, str], rewards: Rewards, *, once: bool = False) -> None:
    """Consume the topic from the position in `rewards`, forever, or with `once` to the topic's end at the start.

    `log` has aiokafka's options for the connection to Kafka.
    """
    consumer = AIOKafkaConsumer(
        TOPIC,
        **log,
        group_id=None,  # no group: this process reads every partition and stores its offsets in its own file
        auto_offset_reset="earliest",
        isolation_level="read_committed",
    )
    try:
        await consumer.start()
        partitions = sorted(consumer.assignment())
        if not partitions:
            raise SystemExit(f"There is no topic {TOPIC} on this broker: start agent-feedback first.")
        first, ends = await consumer.beginning_offsets(partitions), await consumer.end_offsets(partitions)
        known = rewards.last_read()
        last = {one: known[one.partition] for one in partitions if one.partition in known}
        last = {one: read for one, read in last.items() if first[one] <= read[0] < ends[one]}
        for partition in partitions:
            # Read the last record again, to check that this is the same log.
            consumer.seek(partition, last[partition][0] if partition in last else first[partition])
        while not once or any([await consumer.position(one) < ends[one] for one in partitions]):
            records: list[ConsumerRecord] = []
            for partition, batch in (await consumer.getmany(timeout_ms=500, max_records=500)).items():
                read = last.pop(partition, None)
                if read is None or read == (batch[0].offset, batch[0].timestamp):
                    records += batch
                else:  # recreated, or compacted there: read from the beginning, since nothing counts twice
                    consumer.seek(partition, first[partition])
            if records:
                rewards.take(records)
    except KafkaConnectionError:
        at = log["bootstrap_servers"]
        raise SystemExit(f"No Kafka answers at {at}: does it run, and is the address right?") from None
    finally:
        await consumer.stop()


async def _run(log: Mapping[str, str], path: str, once: bool, replies: bool) -> None:
    with closing(Rewards(path)) as rewards:
        work = asyncio.create_task(follow(log, rewards, once=once))
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, work.cancel)
        try:
            await work
        except asyncio.CancelledError:
            return
        for line in rewards.replies() if replies else rewards.effective():
            sys.stdout.write(json.dumps(line, ensure_ascii=False) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description="Keep the reward that counts for every turn, in a SQLite file.")
    parser.add_argument("--broker", default="localhost:9092", help="HOST:PORT of the Kafka (default: %(default)s)")
    parser.add_argument("--run", type=Path, help="the state folder of a running `agent-feedback up`, for its log")
    parser.add_argument("--state", default="rewards.sqlite", help="the SQLite file (default: %(default)s)")
    parser.add_argument("--once", action="store_true", help="catch up, print what counts as JSON lines, and end")
    parser.add_argument("--replies", action="store_true", help="with --once: print the replies instead")
    options = parser.parse_args()
    logging.basicConfig(level=logging.WARNING)
    logging.getLogger("aiokafka").setLevel(logging.CRITICAL)  # the reason of the end is one sentence
    asyncio.run(_run(log_of(options), options.state, options.once, options.replies))


if __name__ == "__main__":
    main()
