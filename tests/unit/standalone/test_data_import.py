"""Rows of other tools' files and the judgements that they become."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from contracts.feedback import FeedbackExplicitReceived
from contracts.instants import format_instant, parse_instant
from contracts.topics import EXPLICIT_RECEIVED
from servicekit.errors import LogUnavailable
from servicekit.log.records import Message, Written
from standalone.data_import.formats import FORMATS, Fact
from standalone.data_import.mapping import ImportMapping, RejectedRow, SkippedRow
from standalone.data_import.rows import header_of, rows_of
from standalone.data_import.verdicts import MappingInvalid, Verdict, verdicts_of
from standalone.operations import data_import
from tests.support.command import agent_feedback_here
from tests.support.hand_clock import FixedClock
from tests.support.logs import RecordingLog

NOW = parse_instant("2026-06-01T00:00:00Z")
THUMBS = verdicts_of([("1", "ok"), ("0", "not_ok")])
OWN = {
    Fact.conversation: "chat", Fact.message: "answer", Fact.agent: "bot", Fact.person: "user",
    Fact.time: "at", Fact.verdict: "thumb", Fact.text: "why",
}  # fmt: skip
ROW = {
    "chat": "c1", "answer": "m1", "bot": "helper", "user": "ann", "at": "2026-01-02T03:04:05Z", "thumb": "1", "why": "",
}  # fmt: skip


def mapped(**more: Any) -> ImportMapping:
    facts: dict[str, Any] = {
        "tenant": "acme",
        "project": "support",
        "format": FORMATS["mapped"],
        "columns": OWN,
        "verdicts": THUMBS,
    }
    return ImportMapping(**(facts | more))


def tool(name: str, score: str, **more: Any) -> ImportMapping:
    return mapped(**({"format": FORMATS[name], "columns": {}, "name": score} | more))


def event_of(mapping: ImportMapping, row: Any) -> FeedbackExplicitReceived:
    event = mapping.event_of(row, NOW)
    assert isinstance(event, FeedbackExplicitReceived), event
    return event


def reason(mapping: ImportMapping, row: Any) -> str:
    found = mapping.event_of(row, NOW)
    assert isinstance(found, RejectedRow | SkippedRow), found
    return found.reason


@pytest.mark.parametrize(
    ("value", "verdict"),
    [
        ("1", "ok"), ("1.0", "ok"), (" 1 ", "ok"), ("2", "not_ok"), ("2.5", "not_ok"), ("3", "not_ok"), ("3.1", None),
        ("Up", "neutral"), ("UP", "neutral"), ("not_ok", "not_ok"), ("ok", "skip"), ("", None), ("nan", None),
        ("inf", None), ("down", None),
    ],
)  # fmt: skip
def test_a_value_has_the_verdict_of_its_rule_or_none(value: str, verdict: Verdict | None) -> None:
    rules = verdicts_of([("1", "ok"), ("2..3", "not_ok"), ("up", "neutral"), ("ok", "skip")])
    assert rules.of(value) == verdict


LABELS = verdicts_of([("thumbs_up", "ok"), ("thumbs_down", "not_ok"), ("1", "ok"), ("0", "not_ok")])


@pytest.mark.parametrize(
    ("kind", "number", "label", "verdict"),
    [
        ("CATEGORICAL", "0", "thumbs_up", "ok"), ("CATEGORICAL", "1", "thumbs_down", "not_ok"),
        ("CATEGORICAL", "1", "bad", None), ("CATEGORICAL", "0", "", "no verdict"),
        ("NUMERIC", "0.5", "thumbs_up", None),
        ("BOOLEAN", "0", "False", "not_ok"), ("", "1", "", "ok"),
        ("LATER", "1", "thumbs_up", "its score has an unknown type"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("names", [("dataType", "stringValue"), ("data_type", "string_value")])
def test_the_type_of_a_langfuse_score_decides_which_column_has_its_value(
    kind: str, number: str, label: str, verdict: str | None, names: tuple[str, str]
) -> None:
    row = {name: value for name, value in LANGFUSE.items() if name not in ("dataType", "stringValue")}
    row |= {"value": number, names[0]: kind, names[1]: label}
    outcome = tool("langfuse", "user-feedback", verdicts=LABELS).event_of(row, NOW)
    match outcome:
        case RejectedRow(why, value) if value is not None:
            assert verdict is None
            assert (value, why.startswith("its value is not mapped")) == (number if kind == "NUMERIC" else label, True)
        case RejectedRow(why) | SkippedRow(why):
            assert why == verdict
        case event:
            assert event.reaction == verdict


@pytest.mark.parametrize(
    ("row", "columns", "verdict"),
    [
        ({"result.label": "thumbs_up", "result.score": "0"}, {}, "ok"),
        ({"result.label": "bad", "result.score": "1"}, {}, None),
        ({"result.label": "", "result.score": "1"}, {}, "ok"),
        ({"result.label": "bad", "result.score": "1"}, {Fact.verdict: "result.score"}, "ok"),
    ],
)
def test_a_label_without_a_verdict_does_not_get_the_verdict_of_its_number(
    row: dict[str, str], columns: dict[Fact, str], verdict: str | None
) -> None:
    phoenix = tool(
        "phoenix", "thumb", verdicts=LABELS, columns={Fact.person: "identifier", **columns},
        constants={Fact.agent: "helper"},
    )  # fmt: skip
    outcome = phoenix.event_of(PHOENIX | row, NOW)
    assert getattr(outcome, "reaction", None) == verdict
    langsmith = tool(
        "langsmith", "user_score", verdicts=LABELS,
        columns={Fact.person: "feedback_source.type", **({Fact.verdict: "score"} if columns else {})},
        constants={Fact.agent: "helper"},
    )  # fmt: skip
    named = {"value": row["result.label"], "score": float(row["result.score"])}
    assert getattr(langsmith.event_of(LANGSMITH | named, NOW), "reaction", None) == verdict


OPEN_WEBUI = {
    "id": "0c1d-1", "user_id": "u-1", "version": 0, "type": "rating",
    "data": {"rating": -1, "model_id": "llama3:8b", "reason": "other", "comment": "Closed", "details": {"rating": 2}},
    "meta": {"arena": True, "model_id": "arena", "message_id": "m-2", "message_index": 2, "chat_id": "chat-1"},
    "snapshot": {"chat": {"id": "chat-1"}}, "created_at": 1732600000, "updated_at": 1732600100,
}  # fmt: skip


def test_an_export_of_open_webui_needs_no_options() -> None:
    verdicts = verdicts_of(FORMATS["open-webui"].verdicts.items())
    mapping = mapped(format=FORMATS["open-webui"], columns={}, verdicts=verdicts)
    event = event_of(mapping, OPEN_WEBUI)
    assert (event.conversation_id, event.turn_id, event.agent_message_id) == ("chat-1", "m-2", "m-2")
    assert (event.agent_id, event.model, event.user_id, event.text) == ("llama3:8b", "llama3:8b", "u-1", "Closed")
    assert (event.reaction, format_instant(event.occurred_at)) == ("not_ok", "2024-11-26T05:46:40.000000Z")
    assert event.sequence == event.occurred_at + 100_000_000
    assert event_of(mapping, OPEN_WEBUI | {"data": {"rating": 1, "model_id": "m"}}).reaction == "ok"
    assert reason(mapping, OPEN_WEBUI | {"data": {"rating": None, "model_id": "m"}}) == "no verdict"


@pytest.mark.parametrize(
    ("unit", "time", "moment"),
    [
        ("seconds", 1740981333.768071, "2025-03-03T05:55:33.768071Z"),
        ("milliseconds", 1740981333768, "2025-03-03T05:55:33.768000Z"),
        ("seconds", "2026-01-02T03:04:05Z", "2026-01-02T03:04:05.000000Z"),
        (None, 1740981400, "its time is a number: name the unit with --time-unit seconds or milliseconds"),
        ("seconds", 1740981333768, "its time is after the year 9999: check --time-unit"),
        ("seconds", -5, "its time has no offset: name the time zone with --time-zone"),
    ],
)
def test_a_time_may_be_a_number_of_a_named_unit(unit: Any, time: object, moment: str) -> None:
    outcome = mapped(time_unit=unit).event_of(ROW | {"at": time}, NOW)
    if isinstance(outcome, FeedbackExplicitReceived):
        assert format_instant(outcome.occurred_at) == moment
    else:
        assert outcome.reason == moment


def test_a_mapped_row_is_a_judgement_of_its_answer_at_its_time() -> None:
    event = event_of(mapped(), ROW | {"why": "Too long.", "thumb": "0"})
    assert format_instant(event.occurred_at) == "2026-01-02T03:04:05.000000Z"
    assert (event.conversation_id, event.turn_id, event.agent_message_id) == ("c1", "m1", "m1")
    assert (event.agent_id, event.user_id, event.reaction, event.text) == ("helper", "ann", "not_ok", "Too long.")
    assert (event.timed_by_log, event.sequence, event.reviews) == (False, None, None)


def test_the_same_row_is_the_same_event_and_another_one_is_not() -> None:
    first = event_of(mapped(), ROW)
    assert event_of(mapped(), dict(reversed(ROW.items()))) == first
    for changed in ({"user": "bob"}, {"chat": "c2"}, {"answer": "m2"}, {"at": "2026-01-02T03:04:06Z"}, {"thumb": "0"}):
        assert event_of(mapped(), ROW | changed).event_id != first.event_id
    assert event_of(mapped(project="other"), ROW).event_id != first.event_id


def test_of_a_rows_states_the_one_modified_last_counts_at_the_rows_time() -> None:
    columns = {Fact.id: "id", Fact.modified: "changed"}
    mapping = mapped(columns=OWN | columns)
    one = ROW | {"id": "s1", "changed": "2026-01-03T00:00:00Z"}
    before, after = event_of(mapping, one), event_of(mapping, one | {"changed": "2026-01-04T00:00:00Z", "thumb": "0"})
    assert before.event_id == after.event_id
    assert before.occurred_at == after.occurred_at
    assert (before.sequence or 0) < (after.sequence or 0)


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"user": " "}, "it has no person"), ({"chat": None}, "it has no conversation"),
        ({"bot": ""}, "it has no agent"),
        ({"answer": ""}, "it has no message"), ({"at": ""}, "it has no time"),
        ({"at": "2026-06-01T00:05:01Z"}, "its time is in the future"),
        ({"at": "2026-01-02 03:04:05"}, "its time has no offset: name the time zone with --time-zone"),
        ({"user": "x" * 257}, "user_id: String should have at most 256 characters"),
        ({"why": "x" * 10_001}, "text: String should have at most 10000 characters"),
        ({"user": "a\ud800"}, "it has characters that are not Unicode text"),
    ],
)  # fmt: skip
def test_a_row_without_a_needed_fact_is_rejected_with_the_reason(changed: dict[str, Any], why: str) -> None:
    assert reason(mapped(), ROW | changed) == why


def test_a_verdict_is_never_guessed() -> None:
    assert reason(mapped(), ROW | {"thumb": "0.5"}).startswith("its value is not mapped")
    assert reason(mapped(verdicts=verdicts_of([])), ROW).startswith("its value is not mapped")
    assert reason(mapped(), ROW | {"thumb": ""}) == "no verdict in thumb"
    assert reason(mapped(verdicts=verdicts_of([("1", "skip")])), ROW) == "a verdict mapped to skip"


@pytest.mark.parametrize(
    ("zone", "text", "moment"),
    [
        ("Europe/Berlin", "2026-01-02 03:04:05", "2026-01-02T02:04:05.000000Z"),
        ("Europe/Berlin", "2026-07-02T03:04", None),
        ("Europe/Berlin", "2026-01-02T03:04:05.5+05:00", "2026-01-01T22:04:05.500000Z"),
        ("UTC", "2026-01-02 03:04:05.963000", "2026-01-02T03:04:05.963000Z"),
        ("UTC", "yesterday", None),
    ],
)
def test_times_without_an_offset_are_of_the_named_zone(zone: str, text: str, moment: str | None) -> None:
    found = mapped(zone=zone).event_of(ROW | {"at": text}, NOW)
    assert (format_instant(found.occurred_at) if isinstance(found, FeedbackExplicitReceived) else None) == moment


LANGFUSE = {
    "id": "s1", "traceId": "t1", "timestamp": "2026-01-02T03:04:05.678Z", "source": "API", "name": "user-feedback",
    "dataType": "NUMERIC", "value": 1, "stringValue": None, "comment": "Thanks", "traceName": "helper", "userId": "ann",
    "authorUserName": None,
}  # fmt: skip


def test_scores_of_langfuse() -> None:
    mapping = tool("langfuse", "user-feedback")
    event = event_of(mapping, LANGFUSE)
    assert (event.conversation_id, event.turn_id, event.trace_id, event.agent_id) == ("t1", "t1", "t1", "helper")
    assert (event.user_id, event.reaction, event.text) == ("ann", "ok", "Thanks")
    blob = {"id": "s1", "trace_id": "t1", "timestamp": "2026-01-02 03:04:05.678000", "source": "API", "value": 0.0,
            "name": "user-feedback", "string_value": ""}  # fmt: skip
    exported = event_of(tool("langfuse", "user-feedback", constants={Fact.agent: "helper", Fact.person: "p"}), blob)
    assert (exported.occurred_at, exported.event_id, exported.reaction) == (event.occurred_at, event.event_id, "not_ok")
    span = event_of(mapping, LANGFUSE | {"observationId": "o1"})
    assert (span.conversation_id, span.turn_id, span.trace_id) == ("t1", "o1", "t1"), "an answer within the trace"
    assert reason(mapping, LANGFUSE | {"source": "EVAL"}) == "not by a person"
    assert reason(mapping, LANGFUSE | {"source": "ELSE"}) == "its author is unknown"
    assert reason(mapping, LANGFUSE | {"source": ""}) == "its author is unknown"
    assert reason(mapping, LANGFUSE | {"name": "toxicity"}) == "another score's name"
    review = event_of(mapping, LANGFUSE | {"source": "ANNOTATION", "authorUserName": "Rita"})
    assert (review.user_id, review.reviews) == ("Rita", "t1")
    assert reason(mapping, LANGFUSE | {"source": "ANNOTATION"}) == "it has no reviewer"


PHOENIX = {
    "id": "U3BhbkFubm90YXRpb246MQ==", "span_id": "67f6740bbe1ddc3f", "annotation_name": "thumb", "source": "API",
    "annotator_kind": "HUMAN", "created_at": "2026-01-02T03:04:05+00:00", "updated_at": "2026-01-02T03:04:06+00:00",
    "result.label": "up", "result.score": "1.0", "result.explanation": "Thanks", "identifier": "ann",
}  # fmt: skip


def test_annotations_of_phoenix() -> None:
    """The columns of its dataframe in CSV, and the objects of its REST API."""
    mapping = tool(
        "phoenix", "thumb", verdicts=verdicts_of([("up", "ok")]), columns={Fact.person: "identifier"},
        constants={Fact.agent: "helper"},
    )  # fmt: skip
    event = event_of(mapping, PHOENIX)
    assert (event.conversation_id, event.turn_id, event.trace_id) == ("67f6740bbe1ddc3f", "67f6740bbe1ddc3f", None)
    assert (event.user_id, event.reaction, event.text, event.reviews) == ("ann", "ok", "Thanks", None)
    result = {"label": "up", "score": 1, "explanation": "Thanks"}
    api = {name: value for name, value in PHOENIX.items() if not name.startswith(("result", "annotation_"))}
    assert event_of(mapping, api | {"name": "thumb", "result": result}) == event
    assert reason(mapping, PHOENIX | {"annotator_kind": "LLM"}) == "not by a person"
    review = event_of(mapping, PHOENIX | {"source": "APP", "user_id": "VXNlcjox"})
    assert (review.user_id, review.reviews) == ("VXNlcjox", "67f6740bbe1ddc3f")


LANGSMITH = {
    "id": "f1", "run_id": "r1", "trace_id": "t1", "key": "user_score", "score": 0, "value": None, "comment": "Wrong",
    "correction": {"desired": "24 euros"}, "created_at": "2026-01-02T03:04:05.678901", "session_id": "tracing-project",
    "modified_at": "2026-01-02T03:04:05.678901", "feedback_source": {"type": "api", "user_id": "owner of the key"},
}  # fmt: skip


def test_feedback_of_langsmith() -> None:
    mapping = tool(
        "langsmith", "user_score",
        columns={Fact.person: "feedback_source.metadata.user"}, constants={Fact.agent: "helper"},
    )  # fmt: skip
    source = {"type": "api", "user_id": "owner of the key", "metadata": {"user": "ann"}}
    event = event_of(mapping, LANGSMITH | {"feedback_source": source})
    assert (event.conversation_id, event.turn_id, event.user_id) == ("t1", "r1", "ann")
    assert (event.reaction, event.text, event.correction) == ("not_ok", "Wrong", None)
    assert event_of(mapping, LANGSMITH | {"feedback_source": source, "correction": "24 euros"}).correction == "24 euros"
    assert reason(mapping, LANGSMITH) == "it has no person", "the owner of an API key did not say it"
    assert reason(mapping, LANGSMITH | {"feedback_source": {"type": "auto_eval"}}) == "not by a person"
    review = event_of(mapping, LANGSMITH | {"feedback_source": {"type": "app", "user_id": "rita"}})
    assert (review.user_id, review.reviews) == ("rita", "r1")


def lines(path: Path, content: bytes) -> list[tuple[int, Any]]:
    path.write_bytes(content)
    return [
        (row.line, row.content.reason if isinstance(row.content, RejectedRow) else dict(row.content))
        for row in rows_of(path)
    ]


MISMATCH = "its quotation marks do not match, or it is too large: no row after it was read"


def test_rows_of_csv_have_the_lines_that_they_begin_in(tmp_path: Path) -> None:
    content = b'\xef\xbb\xbfa,b\r\n1,"two\nlines"\r\n\r\n3\r\n5,6\r\n7,\xff\r\n8,"a"b\r\n9,10'
    assert lines(tmp_path / "x.csv", content) == [
        (2, {"a": "1", "b": "two\nlines"}), (5, "it has 1 cells, the header 2"), (6, {"a": "5", "b": "6"}),
        (7, "it is not UTF-8"), (8, MISMATCH),
    ]  # fmt: skip
    assert lines(tmp_path / "x.csv", b"a;b\n1;2,3") == [(2, {"a": "1", "b": "2,3"})]
    assert lines(tmp_path / "x.tsv", b"a\tb\n1\t2,3") == [(2, {"a": "1", "b": "2,3"})]
    assert header_of(tmp_path / "x.tsv") == ["a", "b"]


def test_rows_of_json_lines(tmp_path: Path) -> None:
    content = b'\xef\xbb\xbf{"a": 1}\n\n[2]\nno\n{"a": "\xff"}\n{"a": 3}'
    expected = [
        (1, {"a": 1}), (3, "it is not a JSON object"), (4, "it is not JSON"), (5, "it is not UTF-8"), (6, {"a": 3}),
    ]  # fmt: skip
    assert lines(tmp_path / "x.ndjson", content) == expected
    assert lines(tmp_path / "x.json", content) == expected, "also under the name of an array"


class StopsAt(RecordingLog):
    """Log that refuses the batch of this number, once."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self._left = number

    async def send(self, messages: Sequence[Message]) -> list[Written]:
        self._left -= 1
        if self._left == 0:
            raise LogUnavailable("down")
        return await super().send(messages)


async def test_an_import_that_stops_is_repeated_from_the_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The fourth of ten rows is wrong, the eighth is left out, and the log refuses the second batch of three once."""
    monkeypatch.setattr(data_import, "BATCH", 3)
    rows = [dict(ROW, answer=f"m{n}", thumb={4: "?", 8: "2"}.get(n, str(n % 2))) for n in range(1, 11)]
    source = tmp_path / "x.jsonl"
    source.write_text("\n".join(map(json.dumps, rows)), "utf-8")
    mapping = mapped(verdicts=verdicts_of([("1", "ok"), ("0", "not_ok"), ("2", "skip")]))
    log = StopsAt(2)
    with pytest.raises(LogUnavailable):
        await data_import.import_file(source, mapping, log, FixedClock(NOW))
    counts = await data_import.import_file(source, mapping, log, FixedClock(NOW))
    sent = log.values("feedback.explicit.received")
    assert [one["agentMessageId"] for one in sent] == [f"m{n}" for n in (1, 2, 3, 1, 2, 3, 5, 6, 7, 9, 10)]
    assert [one["eventId"] for one in sent[:3]] == [one["eventId"] for one in sent[3:6]]
    assert (counts.rows, counts.sent, counts.skipped) == (10, {"ok": 5, "not_ok": 3}, {"a verdict mapped to skip": 1})
    assert (counts.rejections, [line for line, _ in counts.rejected]) == (1, [4])


def dry_run(source: Path, rows: Sequence[dict[str, Any]], *options: str) -> list[str]:
    """Return the lines that a dry run with columns of our own prints."""
    source.write_text("\n".join(map(json.dumps, rows)), "utf-8")
    mapping = [part for fact, column in OWN.items() for part in ("--column", f"{fact}={column}")]
    ended = agent_feedback_here("import", source, *IMPORT, *mapping, *options, "--dry-run")
    return [" ".join(line.split()) for line in ended.err.strip().splitlines()]


def test_a_dry_run_prints_the_verdict_and_the_rows_of_every_value(tmp_path: Path) -> None:
    """Numbers and letters that differ only in form are one value; control characters cannot reach the terminal."""
    values = ("1", "1.0", "Good", "good", "it's\x1b[2J", "skip me")
    rows = [dict(ROW, answer=f"m{n}", thumb=value) for n, value in enumerate(values)]
    assert dry_run(tmp_path / "x.jsonl", rows, "--verdict", "1=ok", "--verdict", "skip me=skip") == [
        "Would import 2 of 6 rows: 2 ok.",
        "good -> missing: 2 rows",
        "it's [2j -> missing: 1 row",
        "1 -> ok: 2 rows",
        "skip me -> skip: 1 row",
        "Add a verdict (ok, not_ok, neutral or skip) for each value without one: --verdict good=VERDICT --verdict "
        "'it'\"'\"'s [2j=VERDICT'",
        "Left out 1: a verdict mapped to skip.",
        "Rejected 3:",
        *(
            f"line {line}: its value is not mapped: add --verdict VALUE=ok, not_ok, neutral or skip."
            for line in (3, 4, 5)
        ),
    ]


def test_two_rows_on_one_answer_of_one_person_are_never_one_judgement_silently(tmp_path: Path) -> None:
    """The other rows are versions of one row, another person's, and another answer's."""
    with_id = ("--column", "id=id", "--verdict", "1=ok", "--verdict", "0=not_ok")
    rows = [
        dict(ROW, id="s1"), dict(ROW, id="s1"), dict(ROW, id="s2", thumb="0"), dict(ROW, id="s3", user="bob"),
        dict(ROW, id="s4", answer="m2"),
    ]  # fmt: skip
    printed = dry_run(tmp_path / "x.jsonl", rows, *with_id)
    assert printed[0] == "Would import 5 of 5 rows: 1 not_ok, 4 ok."
    assert printed[-1].startswith("1 rows judge an answer that another row judges for the same person: only the newest")
    assert not any("another row" in line for line in dry_run(tmp_path / "x.jsonl", rows[:2] + rows[3:], *with_id))


async def test_an_import_writes_redacted_texts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    log = RecordingLog()

    @asynccontextmanager
    async def writing_to(_: object) -> AsyncIterator[RecordingLog]:
        yield log

    monkeypatch.setattr(data_import, "writing_to", writing_to)
    async with data_import.import_log("localhost:1", tmp_path, dry_run=False) as producer:
        await producer.send([Message.of(EXPLICIT_RECEIVED, event_of(mapped(), {**ROW, "why": "4111111111111111"}))])
    assert [one["text"] for one in log.values("feedback.explicit.received")] == ["[card]"]
    async with data_import.import_log("localhost:1", tmp_path, dry_run=True) as producer:
        await producer.send([Message.of(EXPLICIT_RECEIVED, event_of(mapped(), ROW))])
    assert len(log.messages) == 1, "a dry run writes nothing"


@pytest.fixture
def imported(monkeypatch: pytest.MonkeyPatch) -> RecordingLog:
    """Return the log to which the command `import` writes."""
    log = RecordingLog()

    @asynccontextmanager
    async def import_log(*_: object, **__: object) -> AsyncIterator[RecordingLog]:
        yield log

    monkeypatch.setattr(data_import, "import_log", import_log)
    return log


IMPORT = ("--tenant", "acme", "--project", "support")


def test_the_first_rejected_rows_are_told_and_the_others_counted(tmp_path: Path, imported: RecordingLog) -> None:
    source = tmp_path / "x.jsonl"
    source.write_text("\n".join([*["?"] * 1_021, json.dumps(ROW)]))
    mapping = [part for fact, column in OWN.items() for part in ("--column", f"{fact}={column}")]
    ended = agent_feedback_here("import", source, *IMPORT, *mapping, "--verdict", "1=ok")
    assert (ended.code, ended.out) == (1, "")
    said = ended.err.strip().splitlines()
    assert said[:3] == ["Imported 1 of 1,022 rows: 1 ok.", "Rejected 1,021:", "  line 1: it is not JSON."]
    assert said[-2:] == ["  line 20: it is not JSON.", "  and 1,001 more."]
    source.write_text("?")
    ended = agent_feedback_here("import", source, *IMPORT, *mapping, "--verdict", "1=ok", "--dry-run")
    assert ended.err.strip().splitlines() == ["Would import 0 of 1 rows.", "Rejected 1:", "  line 1: it is not JSON."]


@pytest.mark.parametrize(
    ("rules", "said"),
    [
        ([("1", "good")], r"1 is mapped to good: a verdict is ok, not_ok, neutral, skip\."),
        ([("5..4", "ok")], r"The range 5\.\.4 is empty: write the smaller number first\."),
        ([("1..3", "ok"), ("3..4", "not_ok")], r"3\.\.4 overlaps another range with a different verdict\."),
        ([("3..4", "ok"), ("1..3", "not_ok")], r"1\.\.3 overlaps another range with a different verdict\."),
        ([("Up", "ok"), ("up", "not_ok")], r"up is mapped to two verdicts\."),
    ],
)
def test_rules_that_are_refused_say_why(rules: list[tuple[str, str]], said: str) -> None:
    with pytest.raises(MappingInvalid, match=f"^{said}$"):
        verdicts_of(rules)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"columns": {}}, r"Not mapped: conversation, agent, time, verdict, message, person\. Name the columns \("
         r"--column conversation=COLUMN, --column agent=COLUMN, .*\); a constant agent is --agent, a constant person"),
        ({"columns": {**OWN, Fact.name: "score"}}, "The rows have names of scores: name the one to import with --name"),
        ({"name": "thumbs"}, "--name needs the column with the names: --column name=COLUMN"),
        ({"zone": "Berlin"}, "There is no time zone Berlin: write it like Europe/Berlin or UTC"),
        ({"tenant": "a b"}, "--tenant and --project have 1 to 64 letters"),
    ],
)  # fmt: skip
def test_a_mapping_that_is_refused_says_why(more: dict[str, Any], said: str) -> None:
    with pytest.raises(MappingInvalid, match=f"^{said}"):
        mapped(**more)


def test_a_constant_stands_for_a_column_and_for_an_empty_cell() -> None:
    columns = {fact: column for fact, column in OWN.items() if fact not in (Fact.agent, Fact.person)}
    constant = mapped(columns=columns, constants={Fact.agent: "helper", Fact.person: "someone"})
    event = event_of(constant, ROW)
    assert (event.agent_id, event.user_id) == ("helper", "someone")
    both = mapped(constants={Fact.agent: "other"})
    assert event_of(both, ROW).agent_id == "helper"
    assert event_of(both, ROW | {"bot": " "}).agent_id == "other"


def test_a_turn_goes_before_the_message_and_may_stand_alone() -> None:
    both = event_of(mapped(columns=OWN | {Fact.turn: "turn"}), ROW | {"turn": "t1"})
    assert (both.turn_id, both.agent_message_id) == ("t1", "m1")
    alone = {fact: column for fact, column in OWN.items() if fact != Fact.message} | {Fact.turn: "answer"}
    event = event_of(mapped(columns=alone), ROW)
    assert (event.turn_id, event.agent_message_id) == ("m1", None)


def test_a_row_with_only_a_reviewer_is_a_review() -> None:
    mapping = mapped(columns=OWN | {Fact.reviewer: "by"})
    assert event_of(mapping, ROW | {"by": "rita"}).reviews is None, "it names a person too"
    review = event_of(mapping, ROW | {"by": "rita", "user": ""})
    assert (review.user_id, review.reviews) == ("rita", "m1")
    only = {fact: column for fact, column in OWN.items() if fact != Fact.person} | {Fact.reviewer: "by"}
    assert event_of(mapped(columns=only), ROW | {"by": "rita"}).reviews == "m1"


def test_further_facts_of_a_row_are_kept() -> None:
    more = {Fact.agent_version: "v", Fact.model: "llm", Fact.trace: "tr", Fact.correction: "fix"}
    event = event_of(mapped(columns=OWN | more), ROW | {"v": "2", "llm": "m9", "tr": "t7", "fix": "At ten."})
    assert (event.agent_version, event.model, event.trace_id, event.correction) == ("2", "m9", "t7", "At ten.")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--format", "excel"], "There is no format excel: it is one of mapped, langfuse, phoenix, langsmith, open-"),
        (["--column", "chat=c"], "--column has no fact chat: facts are id, conversation, turn, "),
        (["--verdict", "1"], "--verdict 1: write NAME=VALUE."),
    ],
)  # fmt: skip
def test_wrong_options_of_an_import_are_told(tmp_path: Path, options: list[str], said: str) -> None:
    source = tmp_path / "x.csv"
    source.write_text("a\n1\n")
    ended = agent_feedback_here("import", source, *IMPORT, *options)
    assert (ended.code, ended.out) == (2, "")
    assert said in " ".join(ended.err.split())


def test_a_column_that_the_file_lacks_is_told(tmp_path: Path) -> None:
    source = tmp_path / "x.csv"
    source.write_text(",".join(OWN.values()) + "\n")
    mapping = [part for fact, column in OWN.items() for part in ("--column", f"{fact}={column}")]
    ended = agent_feedback_here("import", source, *IMPORT, *mapping, "--column", "model=llm", "--verdict", "1=ok")
    assert ended.code == 2
    assert ended.err.strip() == f"x.csv has no column llm; its columns are {', '.join(OWN.values())}."
    for name, content, why in (
        ("none", None, "There is no file "),
        ("empty.csv", "", "is empty: there is nothing to im"),
    ):
        if content is not None:
            (tmp_path / name).write_text(content)
        ended = agent_feedback_here("import", tmp_path / name, *IMPORT, *mapping)
        assert (ended.code, why in ended.err) == (2, True)
