"""Event files of other programs."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from contracts.base import RECORD_LIMIT
from contracts.topics import CHAT_MESSAGE
from servicekit.log.messages import Message, Written
from standalone.one_process.lines import KEY_LIMIT, Routed, lines_of, route, violation_of
from standalone.one_process.replay import BATCH, Line, RejectedLine, ReplayResult, replay
from tests.support.running_stack import message

TOPIC = CHAT_MESSAGE.name


class Sheet:
    """Log of one partition per topic that accepts everything, and remembers the size of each write."""

    def __init__(self) -> None:
        self.ends: Counter[str] = Counter()
        self.written: list[Message] = []
        self.sizes: list[int] = []

    async def send(self, messages: Sequence[Message]) -> list[Written]:
        places = []
        for one in messages:
            places.append(Written(one.topic, 0, self.ends[one.topic]))
            self.ends[one.topic] += 1
        self.written += messages
        self.sizes.append(len(messages))
        return places


def line_of(**fields: Any) -> bytes:
    return json.dumps(message("m1", "c1") | fields).encode()


GOOD = line_of()
TYPELESS = line_of(senderType=7)


def test_a_byte_order_mark_and_other_ends_of_lines_change_nothing(tmp_path: Path) -> None:
    line = b'{"topic":"chat.message.ingested"}'
    file = tmp_path / "events.jsonl"
    file.write_bytes(b"\xef\xbb\xbf" + line + b"\r\n" + line)
    assert [route(found) for _, found in lines_of(file)] == [Routed("chat.message.ingested", None, line)] * 2


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"", "empty line"),
        (b" \t\r", "empty line"),
        (b"{", "not JSON"),
        (b"[]", "not a JSON object"),
        (b"{}", "no topic"),
        (b'{"topic": 7}', "no topic"),
        (b'{"topic": "feedback.created"}', "not a topic that this system reads"),
        (b" " * (RECORD_LIMIT + 1), f"larger than {RECORD_LIMIT} bytes"),
        (b" " * RECORD_LIMIT, "empty line"),
    ],
)
def test_a_line_without_a_topic_is_not_published(line: bytes, reason: str) -> None:
    assert route(line) == reason


@pytest.mark.parametrize(
    ("fields", "key"),
    [
        ({}, None),
        ({"tenant": "a", "project": "p", "conversationId": "c"}, "a/p/c"),
        ({"tenant": "a", "project": "p", "postId": "9"}, "a/p/post:9"),
        ({"tenant": "a", "project": "p", "conversationId": "c", "postId": "9"}, "a/p/c"),
        ({"tenant": "a", "project": "p", "conversationId": 7}, None),
        ({"tenant": "a", "conversationId": "c"}, None),
        ({"tenant": "a", "project": "p", "conversationId": "c" * (KEY_LIMIT - 4)}, "a/p/" + "c" * (KEY_LIMIT - 4)),
        ({"tenant": "a", "project": "p", "conversationId": "c" * (KEY_LIMIT - 3)}, None),
    ],
)
def test_a_line_has_the_key_of_its_conversation(fields: dict[str, Any], key: str | None) -> None:
    line = json.dumps({"topic": TOPIC} | fields).encode()
    assert route(b"  " + line + b"\r") == Routed(TOPIC, key, line)


def test_a_line_that_every_service_rejects_names_its_field() -> None:
    good, typeless = route(GOOD), route(TYPELESS)
    assert isinstance(good, Routed) and isinstance(typeless, Routed)
    assert violation_of(good) is None
    reason, detail = violation_of(typeless) or ("", "")
    assert reason == "invalid_event"
    assert detail.startswith("senderType: ")


def events(folder: Path, name: str, *lines: bytes) -> Path:
    file = folder / name
    file.write_bytes(b"".join(line + b"\n" for line in lines))
    return file


async def test_a_replay_publishes_every_line_with_a_topic_and_reports_the_others(tmp_path: Path) -> None:
    first = events(tmp_path, "first.jsonl", b"", GOOD, TYPELESS, b"{", GOOD)
    second = events(tmp_path, "second.jsonl", TYPELESS, GOOD)
    log, account, read = Sheet(), ReplayResult(), list[int]()
    await replay([first, second], log, account, progress=read.append)
    assert [one.value for one in log.written] == [GOOD, TYPELESS, GOOD, TYPELESS, GOOD]
    assert {(one.topic, one.key) for one in log.written} == {(TOPIC, "acme/support/c1")}
    assert (account.lines, account.events) == (7, 5)
    assert account.rejected == [
        RejectedLine(Line(str(first), 1), "empty line"), RejectedLine(Line(str(first), 4), "not JSON")
    ]  # fmt: skip
    assert (account.places, account.seen) == ({}, [])
    assert read == [first.stat().st_size, second.stat().st_size]


async def test_a_replay_that_checks_also_reports_what_services_will_reject(tmp_path: Path) -> None:
    file = events(tmp_path, "events.jsonl", GOOD, TYPELESS, b"{", GOOD)
    log, account = Sheet(), ReplayResult()
    await replay([file], log, account, check_models=True)
    assert [one.value for one in log.written] == [GOOD, TYPELESS, GOOD], "the services say why"
    typeless, broken = account.rejected
    assert (typeless.line.number, typeless.reason) == (2, "invalid_event")
    assert typeless.detail.startswith("senderType: ")
    assert typeless.row() == {
        "file": str(file), "line": 2, "fate": "bad", "reason": "invalid_event", "detail": typeless.detail
    }  # fmt: skip
    assert broken.row() == {"file": str(file), "line": 3, "fate": "bad", "reason": "not JSON"}


async def test_a_replay_keeps_the_place_of_each_line_if_asked(tmp_path: Path) -> None:
    files = [events(tmp_path, "first.jsonl", GOOD, b"{", GOOD), events(tmp_path, "second.jsonl", GOOD)]
    account = ReplayResult()
    await replay(files, Sheet(), account, keep_places=True)
    first, second = map(str, files)
    assert account.seen == [Line(first, 1), Line(first, 2), Line(first, 3), Line(second, 1)]
    assert account.places == {
        f"{TOPIC}:0:0": Line(first, 1), f"{TOPIC}:0:1": Line(first, 3), f"{TOPIC}:0:2": Line(second, 1)
    }  # fmt: skip


@pytest.mark.parametrize(("extra", "last"), [(0, 0), (1, 1)])
async def test_a_replay_writes_in_batches(tmp_path: Path, extra: int, last: int) -> None:
    file = events(tmp_path, "events.jsonl", *[GOOD] * (BATCH + extra))
    log, account, read = Sheet(), ReplayResult(), list[int]()
    await replay([file], log, account, keep_places=True, progress=read.append)
    assert log.sizes == [BATCH, last]
    assert (account.events, len(account.places)) == (BATCH + extra, BATCH + extra)
    assert read == [(len(GOOD) + 1) * BATCH, (len(GOOD) + 1) * extra]


PLACE = {"tenant": "acme", "project": "support"}


@pytest.mark.parametrize(
    ("topic", "fields", "key"),
    [
        ("chat.message.ingested", PLACE | {"conversationId": "c1"}, "acme/support/c1"),
        ("post.published", PLACE | {"postId": "17"}, "acme/support/post:17"),
        ("post.published", PLACE | {"conversationId": "c1", "postId": "17"}, "acme/support/c1"),
        ("chat.message.ingested", PLACE, None),
        ("chat.message.ingested", {"tenant": "acme", "conversationId": "c1"}, None),
        ("post.published", {"project": "support", "postId": "17"}, None),
        ("post.published", PLACE | {"postId": 17}, None),
        ("chat.message.ingested", PLACE | {"conversationId": "c" * (KEY_LIMIT - 13)}, f"acme/support/{'c' * 499}"),
        ("chat.message.ingested", PLACE | {"conversationId": "c" * (KEY_LIMIT - 12)}, None),
    ],
)
def test_the_key_of_a_line_is_its_conversation_or_post(topic: str, fields: dict[str, Any], key: str | None) -> None:
    line = json.dumps({"topic": topic, **fields}).encode()
    assert route(b" " + line + b" ") == Routed(topic, key, line)
