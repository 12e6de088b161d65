"""Event files of other programs."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest
import typer
from typer.testing import CliRunner

from contracts.base import RECORD_LIMIT
from contracts.topics import CHAT_MESSAGE
from servicekit.log.records import Message, Written
from standalone.cli.app import app
from standalone.cli.export import _downloaded
from standalone.data_import import rows
from standalone.data_import.mapping import RejectedRow
from standalone.data_import.rows import ROW_LIMIT, header_of, rows_of
from standalone.data_import.verdicts import MappingInvalid
from standalone.one_process.replay import (
    BATCH,
    KEY_LIMIT,
    Line,
    RejectedLine,
    ReplayResult,
    Routed,
    lines_of,
    replay,
    route,
)
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


# Rows of imported files at the limits: sizes, pieces, line numbers, and files that end early.

TOO_LARGE = f"it is larger than {ROW_LIMIT} bytes"


MISMATCH = "its quotation marks do not match, or it is too large: no row after it was read"


NO_JSON = "it is not JSON"


def found(path: Path, content: bytes) -> list[tuple[int, Any]]:
    """Return the line and the content, or the reason for the rejection, of each row of a file."""
    path.write_bytes(content)
    return [
        (row.line, row.content.reason if isinstance(row.content, RejectedRow) else dict(row.content))
        for row in rows_of(path)
    ]


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limit rows to 20 bytes."""
    monkeypatch.setattr(rows, "ROW_LIMIT", 20)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("end", [b"\n", b""], ids=["line break", "end of the file"])
def test_a_line_of_json_may_be_as_large_as_the_limit(tmp_path: Path, end: bytes) -> None:
    exact, large = b'{"a": 1}'.ljust(20 - len(end)), b'{"a": 1}'.ljust(21 - len(end))
    assert found(tmp_path / "x.jsonl", exact + end) == [(1, {"a": 1})]
    assert found(tmp_path / "x.jsonl", large + end) == [(1, TOO_LARGE)]
    content = large.ljust(70) + b"\n" + exact + end
    assert found(tmp_path / "x.jsonl", content) == [(1, TOO_LARGE), (2, {"a": 1})]


@pytest.mark.usefixtures("small")
def test_a_row_of_csv_may_be_as_large_as_the_limit(tmp_path: Path) -> None:
    exact = b'1,"' + b"x" * 10 + b'\nabcd"\n'
    assert len(exact) == 20
    text = "x" * 10 + "\nabcd"
    content = b"a,b\n" + exact + b'2,"' + b"x" * 11 + b'\nabcd"\n' + exact
    assert found(tmp_path / "x.csv", content) == [
        (2, {"a": "1", "b": text}), (4, MISMATCH)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("x.csv", b'a,b\n1,2\n\n3,"4\n5"\n'), ("x.jsonl", b'{"a": 1}\n\n{"a": 2}\n'),
        ("x.json", b'[{"a": 1},\n{"a": 2}]'), ("x.json", b'{"a": 1}\n{"a": 2}'),
    ],
)  # fmt: skip
def test_the_bytes_that_were_read_add_up_to_the_file(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    read = [row.read for row in rows_of(tmp_path / name)]
    assert len(read) == 2
    assert 0 < read[0] <= read[1] == len(content)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"[]", []),
        (b" \n [ ] ", []),
        (b'[\n{"a": 1}\n,\n{"a":\n2}, {"a": 3}\n]', [(1, {"a": 1}), (2, {"a": 2}), (3, {"a": 3})]),
        (b'[{"a": 1}', [(1, NO_JSON)]),
        (b'[{"a": "\xff"}]', [(1, "it is not UTF-8")]),
        (b'\xef\xbb\xbf\n[{"a": 1}]', [(1, {"a": 1})]),
    ],
)
def test_elements_of_an_array(tmp_path: Path, content: bytes, expected: Sequence[Any]) -> None:
    assert found(tmp_path / "x.json", content) == list(expected)


@pytest.mark.parametrize(
    ("name", "content", "header"),
    [
        ("x.csv", b"\xef\xbb\xbfa,b\n1,2", ["a", "b"]), ("x.CSV", b"a;b", ["a", "b"]),
        ("x.TSV", b"a\tb,c\n", ["a", "b,c"]), ("x.csv", b'"a\nb",c\n', ["a\nb", "c"]), ("x.csv", b"a,", ["a", ""]),
        ("x.jsonl", b"{}", None),
        ("x.json", b"a,a", None),
    ],
)  # fmt: skip
def test_the_columns_are_those_of_the_first_row(
    tmp_path: Path, name: str, content: bytes, header: list[str] | None
) -> None:
    (tmp_path / name).write_bytes(content)
    assert header_of(tmp_path / name) == header


@pytest.mark.parametrize("content", [b"", b"\n", b'""\n1', b",\n1,2", b"a,b,a\n", b'"a\n'])
def test_a_file_without_names_of_columns_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x.csv").write_bytes(content)
    with pytest.raises(MappingInvalid, match=r"^x\.csv: its first line must name its columns, each once\.$"):
        header_of(tmp_path / "x.csv")


def test_a_file_of_another_kind_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.xlsx").touch()
    said = r"^x\.xlsx: an import reads files named \.csv, \.tsv, \.jsonl, \.ndjson, \.json\.$"
    with pytest.raises(MappingInvalid, match=said):
        list(rows_of(tmp_path / "x.xlsx"))


# An exported file is replaced as a whole or stays as it was.

OLD, NEW = b"of yesterday\n", b'{"prompt": 1}\n{"prompt": 2}\n'


def exported(out: Path, answer: httpx.Response) -> dict[str, object]:
    with httpx.Client(base_url="http://service", transport=httpx.MockTransport(lambda _: answer)) as http:
        return _downloaded(http, "/exports/kto", {}, out, quiet=True)


class _Broken(httpx.SyncByteStream):
    def __iter__(self) -> Iterator[bytes]:
        yield NEW[:10]
        raise httpx.ReadError("gone")


@pytest.mark.parametrize(
    "answer",
    [httpx.Response(200, stream=_Broken()), httpx.Response(503, json={"detail": "Later."})],
    ids=["broken off", "refused"],
)
def test_an_export_that_fails_leaves_the_file_as_it_was(tmp_path: Path, answer: httpx.Response) -> None:
    out = tmp_path / "kto.jsonl"
    out.write_bytes(OLD)
    with pytest.raises(typer.Exit):
        exported(out, answer)
    assert out.read_bytes() == OLD
    assert [file.name for file in tmp_path.iterdir()] == ["kto.jsonl"]


def test_a_manifest_gives_the_same_rows_again_less_the_erased(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows, queries = ['{"a": "\u2028"}', '{"b": 1}', '{"b": 1}', '{"c": 1}'], []

    def answer(request: httpx.Request) -> httpx.Response:
        queries.append(str(request.url))
        if request.url.path.endswith("/counts"):
            return httpx.Response(503)
        return httpx.Response(200, content="".join(f"{row}\n" for row in rows).encode())

    monkeypatch.setattr(httpx, "Client", partial(httpx.Client, transport=httpx.MockTransport(answer)))
    service = ("--url", "http://service", "--token", "secret")
    first, again = tmp_path / "first.jsonl", tmp_path / "again.jsonl"
    filters = ("--filter", "agent_id=bot", "--filter", "attributes.language=de", "--filter", "records=true")
    of = ("kto", "--tenant", "acme", "--project", "support", *filters)
    result = CliRunner().invoke(app, ["export", *of, "--out", str(first), *service])
    assert result.exit_code == 0 and "The server could not count the verdicts that were left out." in result.output
    rows[:] = ['{"added": 1}', rows[0], rows[1], rows[1], rows[1], '{"c": "changed"}']
    manifest = ("--manifest", f"{first}.manifest.json")
    result = CliRunner().invoke(app, ["export", "--out", str(again), *manifest, *service])
    assert result.exit_code == 0, result.output
    assert again.read_text().split("\n") == ['{"a": "\u2028"}', '{"b": 1}', '{"b": 1}', ""]
    assert "1 of the 4 earlier rows were erased or changed since." in result.output
    assert queries[0] == queries[-1], "the same format, project and filters"
    assert queries[0].endswith("exports/kto?agent_id=bot&attributes.language=de&records=true")


def test_a_filter_of_an_export_has_a_name_and_a_value(tmp_path: Path) -> None:
    of = ("kto", "--tenant", "acme", "--project", "support", "--url", "http://service", "--token", "secret")
    result = CliRunner().invoke(app, ["export", *of, "--out", str(tmp_path / "out"), "--filter", "reaction"])
    assert result.exit_code == 2 and "NAME=VALUE" in result.output
