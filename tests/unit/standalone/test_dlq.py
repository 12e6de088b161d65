"""Filters for dead letters, and the records sent on replay."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from aiokafka import ConsumerRecord
from rich.console import Console
from typer.testing import CliRunner

from contracts.topics import CHAT_REPLY, INFERRED_RECEIVED
from servicekit.log.dead_letters import dead_letter
from servicekit.log.records import Coordinates, Message, RawRecord, Written
from servicekit.log.settings import MESSAGE_LIMIT
from standalone.cli.app import app
from standalone.cli.dlq import letters_table
from standalone.operations.dlq import Filter, Letter, facts_of, letter_of, message_again, replay
from tests.support.command import agent_feedback_here

SECOND = 1_000_000


TRACE = ("traceparent", b"00-1-2-01")


LOGGED = ("agent-feedback-log-time", b"3000000")


CAUSE = ("cause", b"chat.message.ingested:1:7")


def letter(
    value: bytes | None = b"{broken",
    *,
    topic: str = CHAT_REPLY.name,
    reason: str = "invalid_json",
    at: int = 5,
    offset: int = 0,
    key: bytes | None = b"acme/p/c1",
    headers: Sequence[tuple[str, bytes]] = (CAUSE,),
) -> Letter:
    """Return a dead letter as the services write it, read back from its topic."""
    raw = RawRecord(Coordinates(topic, 2, 40), key, value, headers, 3 * SECOND)
    written = dead_letter(raw, service="chat_bridge", reason=reason, error_class="permanent", detail="no JSON")
    return letter_of(record(written, at, offset))


def record(message: Message, at: int, offset: int) -> ConsumerRecord:
    return ConsumerRecord(
        topic=message.topic,
        partition=0,
        offset=offset,
        timestamp=at * 1_000,
        timestamp_type=1,
        key=None if message.key is None else message.key.encode(),
        value=message.value,
        checksum=None,
        serialized_key_size=0,
        serialized_value_size=0,
        headers=tuple(message.headers),
    )


async def one_by_one(found: Sequence[Letter]) -> AsyncIterator[Letter]:
    for one in found:
        yield one


class Log:
    def __init__(self) -> None:
        self.taken: list[Message] = []

    async def send(self, messages: Sequence[Message]) -> list[Written]:
        self.taken += messages
        return [Written(message.topic, 0, n) for n, message in enumerate(messages)]


def test_a_letter_shows_where_it_lies_and_why_but_not_its_content() -> None:
    assert facts_of(letter(b"secret words")) == {
        "letter": "chat.message.reply.ingested.dlq:0:0",
        "written_at": "1970-01-01T00:00:05.000000Z",
        "topic": CHAT_REPLY.name,
        "record": "chat.message.reply.ingested:2:40",
        "reason": "invalid_json",
        "error_class": "permanent",
        "detail": "no JSON",
        "service": "chat_bridge",
        "bytes": 12,
        "records": 1,
    }


@pytest.mark.parametrize(
    ("wanted", "admitted"),
    [
        (Filter(), True),
        (Filter(reason="invalid_json"), True),
        (Filter(reason="future"), False),
        (Filter(topic=CHAT_REPLY.name), True),
        (Filter(topic=CHAT_REPLY.dead_letters), True),
        (Filter(topic=INFERRED_RECEIVED.name), False),
        (Filter(since=5 * SECOND), True),
        (Filter(since=5 * SECOND + 1), False),
        (Filter(until=5 * SECOND), False),
        (Filter(until=5 * SECOND + 1), True),
        (Filter(reason="invalid_json", topic=INFERRED_RECEIVED.name), False),
    ],
)
def test_every_filter_must_admit_a_letter(wanted: Filter, admitted: bool) -> None:
    assert wanted.admits(letter()) is admitted


def test_what_is_sent_again_is_the_record_as_it_was() -> None:
    ours = letter(b"\xff\x00", topic=INFERRED_RECEIVED.name, headers=(CAUSE, TRACE, ("own", b"thing")))
    assert message_again(ours) == Message(INFERRED_RECEIVED.name, "acme/p/c1", b"\xff\x00", [LOGGED, CAUSE])
    theirs = message_again(letter(b"\xff\x00", headers=(CAUSE,)))
    assert theirs == Message(CHAT_REPLY.name, "acme/p/c1", b"\xff\x00", [LOGGED])
    assert message_again(letter(key=None, headers=())) == Message(CHAT_REPLY.name, None, b"{broken", [LOGGED])


@pytest.mark.parametrize("name", ["cause", "traceparent", "timestamp"])
def test_a_header_without_a_value_is_not_sent_again(name: str) -> None:
    headers: Any = ((name, None), (name, b"7"))
    ours = replace(letter(), headers=headers)
    assert [value for _, value in message_again(ours).headers] == [b"7"]


async def test_equal_letters_are_sent_once_and_empty_ones_never() -> None:
    log, passed = Log(), list[int]()
    too_large = letter(b"x" * MESSAGE_LIMIT)
    assert not too_large.whole
    found = [letter(), letter(offset=1), letter(b"other"), letter(topic=INFERRED_RECEIVED.name), too_large]
    facts = await replay(one_by_one(found), log, passed.append)
    assert facts == {"letters": 5, "sent": 3, "repeats": 1, "empty": 1, "too_large": 0}
    assert [(m.topic, m.value) for m in log.taken] == [
        (CHAT_REPLY.name, b"{broken"),
        (CHAT_REPLY.name, b"other"),
        (INFERRED_RECEIVED.name, b"{broken"),
    ]
    assert sum(passed) == 5


async def test_a_letter_of_a_topic_that_this_system_does_not_have_is_not_sent() -> None:
    log = Log()
    strange = replace(letter(), topic="orders")
    facts = await replay(one_by_one([strange, letter(b"other")]), log)
    assert facts == {"letters": 2, "sent": 1, "repeats": 0, "empty": 1, "too_large": 0}
    assert [m.topic for m in log.taken] == [CHAT_REPLY.name]


def test_a_list_shows_whole_names_and_takes_nothing_for_markup() -> None:
    found = [facts_of(letter(offset=n)) | {"detail": "[/red] \x1b[2J at the very first byte"} for n in (9, 123_456)]
    shown = StringIO()
    Console(file=shown, width=80).print(letters_table(found))
    lines = shown.getvalue().splitlines()
    for one in found:
        assert any(line.startswith(f"{one['letter']} ") and " invalid_json " in line for line in lines)
    assert "[/red]" in shown.getvalue() and "\x1b" not in shown.getvalue()
    assert max(map(len, lines)) <= 80


def test_a_letter_without_marks_names_only_its_topic() -> None:
    bare = letter_of(record(Message("feedback.created.dlq", None, b"x", []), 1, 7))
    assert facts_of(bare) == {
        "letter": "feedback.created.dlq:0:7", "written_at": "1970-01-01T00:00:01.000000Z", "topic": "feedback.created",
        "record": "feedback.created:?:?", "reason": "unknown", "error_class": "unknown", "detail": "",
        "service": "unknown", "bytes": 1, "records": 1,
    }  # fmt: skip


async def test_letters_with_another_key_or_another_split_of_key_and_value_are_no_duplicates() -> None:
    keys: list[tuple[bytes | None, bytes]] = [
        (None, b"ab"), (b"", b"ab"), (b"a", b"b"), (b"ab", b""), (b"ab", b"c"), (None, b"ab")
    ]  # fmt: skip
    found = [replace(letter(), key=key, value=value) for key, value in keys]
    facts = await replay(one_by_one(found), Log())
    assert (facts["sent"], facts["repeats"]) == (5, 1)


async def test_a_record_of_exactly_the_limit_is_sent_again() -> None:
    size = message_again(replace(letter(), value=b"")).size
    exact = replace(letter(), value=b"x" * (MESSAGE_LIMIT - size))
    over = replace(letter(), value=b"x" * (MESSAGE_LIMIT - size + 1))
    facts = await replay(one_by_one([exact, over]), Log())
    assert (facts["sent"], facts["too_large"]) == (1, 1)


# Output of the log commands without a terminal.


def test_everything_is_sent_again_only_by_saying_so() -> None:
    refused = CliRunner().invoke(app, ["dlq", "replay", "--broker", "127.0.0.1:1"])
    assert refused.exit_code == 2
    assert "--yes" in refused.output


@pytest.mark.parametrize("command", [["ledger", "rebuild", "--store", "postgresql://127.0.0.1:1/db"], ["keys", "list"]])
def test_a_command_gives_up_on_a_database_that_does_not_answer(
    command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("standalone.operations.log_access.ANSWER_SECONDS", 0.3)
    # Else loggers of later tests would keep this run's closed stderr.
    monkeypatch.setattr("servicekit.logging.configure_logging", lambda **_: None)
    place = ["--database", "postgresql://u:secret@127.0.0.1:1/db", "--state", str(tmp_path)]
    ended = CliRunner().invoke(app, [*command, *place])
    assert ended.exit_code == 3
    assert "Nothing answered at postgresql://127.0.0.1:1/db" in ended.output
    assert "secret" not in ended.output


@pytest.mark.parametrize("command", [["ledger", "rebuild"], ["keys", "list"]], ids=" ".join)
@pytest.mark.parametrize("given", [[], ["--database", "postgresql://127.0.0.1:1/given"]], ids=["none", "another"])
def test_a_command_works_on_the_database_of_the_run_unless_another_is_given(
    command: list[str], given: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("standalone.operations.log_access.ANSWER_SECONDS", 0.01)
    run = {"database": "postgresql://127.0.0.1:1/run", "broker": "127.0.0.1:1", "log": "memory"}
    (tmp_path / "run.json").write_text(json.dumps(run))
    ended = agent_feedback_here(*command, *given, "--state", tmp_path)
    assert ended.code == 3
    at = "given" if given and command[0] != "ledger" else "run"
    assert f"Nothing answered at postgresql://127.0.0.1:1/{at} within" in ended.err
