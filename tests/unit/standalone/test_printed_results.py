"""Words that commands print for known results, without servers."""

from __future__ import annotations

import io
import json
from collections import Counter
from collections.abc import Callable, Coroutine, Sequence
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest
from rich.console import Console
from typer.testing import CliRunner, Result

from detector.evaluation.comparison import Difference
from inference.differences import AnnouncedVerdict, Differences, Example
from inference.store import MessageKey
from reporting.read_models.generation import Switched
from standalone.cli import evaluate, rejudge
from standalone.cli.app import app
from standalone.cli.detection import print_errors
from standalone.cli.progress import progress_bar
from standalone.operations.ledger import Republished
from standalone.operations.rebuild import Rebuilt
from standalone.operations.rejudge import Rejudged
from standalone.operations.report import print_report
from standalone.operations.rewind import GROUPS
from tests.support.command import agent_feedback_here

Invoke = Callable[..., Result]
BAD = UUID(int=7)


@pytest.fixture
def invoked(monkeypatch: pytest.MonkeyPatch) -> Invoke:
    """Return a function that runs a command whose work has a given result."""

    def invoke(result: Any, module: str, *arguments: str) -> Result:
        def run(work: Coroutine[Any, Any, Any], *_: Any) -> Any:
            work.close()
            return result

        monkeypatch.setattr(f"standalone.cli.{module}.run", run)
        return CliRunner().invoke(app, list(arguments))

    return invoke


def lines(text: str) -> list[str]:
    return [" ".join(line.split()) for line in text.splitlines()]


def test_purge_names_the_rows_by_table(invoked: Invoke) -> None:
    found = {"feedback": {"turns": 1_234, "journal": 5}, "reporting": {"messages": 0}}
    rows = ["feedback turns 1,234", "feedback journal 5", "reporting messages 0"]
    assert lines(invoked(found, "purge", "purge").stdout) == ["service table deleted", *rows]
    assert lines(invoked(found, "purge", "purge", "--dry-run").stdout) == ["service table to delete", *rows]
    assert lines(invoked({"feedback": {}}, "purge", "purge").stdout) == ["Nothing is older than its retention."]
    assert json.loads(invoked(found, "purge", "purge", "--json").stdout) == found


@pytest.mark.parametrize("impossible", [{}, {BAD: "text: too long"}])
def test_rebuild_tells_what_it_changed_and_what_it_could_not_report(
    invoked: Invoke, impossible: dict[UUID, str]
) -> None:
    result = Rebuilt(1_500, impossible, Switched(removed=2, replaced=1_000))
    ended = invoked(result, "rebuild", "rebuild", "reporting")
    assert ended.exit_code == bool(impossible)
    said = "Read 1,500 feedback records; 1,000 rows of the reports were added or changed, 2 removed."
    assert lines(ended.stderr) == [
        said,
        *(f"Feedback {id_} cannot be reported: {why}." for id_, why in impossible.items()),
    ]
    assert json.loads(invoked(result, "rebuild", "rebuild", "reporting", "--json").stdout) == {
        "feedbacks": 1_500, "removed": 2, "replaced": 1_000,
        "impossible": {str(id_): why for id_, why in impossible.items()},
    }  # fmt: skip


@pytest.mark.parametrize("impossible", [{}, {UUID(int=n): "text: too long" for n in range(51)}])
def test_republish_tells_what_it_announced_and_at_most_fifty_faults(
    invoked: Invoke, impossible: dict[UUID, str]
) -> None:
    result = Republished(1_500, impossible)
    ended = invoked(result, "republish", "republish")
    assert ended.exit_code == bool(impossible)
    faults = [f"Feedback {id_} cannot be announced: {why}." for id_, why in impossible.items()]
    assert lines(ended.stderr) == ["Announced 1,500 feedback records.", *faults[:50]]
    shown = json.loads(invoked(result, "republish", "republish", "--json").stdout)
    assert (shown["announced"], len(shown["impossible"])) == (1_500, len(impossible))
    assert "raised" not in shown


def test_republish_of_a_restored_store_tells_how_many_revisions_it_raised(invoked: Invoke) -> None:
    result = Republished(1_500, raised=1_001)
    ended = invoked(result, "republish", "republish", "--restored")
    assert lines(ended.stderr) == [
        "Raised the revision of 1,001 feedback records.",
        "Announced 1,500 feedback records.",
    ]
    assert json.loads(invoked(result, "republish", "republish", "--restored", "--json").stdout)["raised"] == 1_001


def test_rewind_tells_how_many_records_each_group_reads_again(
    invoked: Invoke,
) -> None:
    found = {"reporting": 1_234, "feedback": 0}
    ended = invoked(found, "rewind", "rewind", "--to", "earliest")
    assert ended.exit_code == 0
    assert lines(ended.stdout) == ["reporting: 1,234 records again", "feedback: 0 records again"]
    assert "then run `republish --restored` and `verify-ledger`" in ended.stderr
    assert json.loads(invoked(found, "rewind", "rewind", "--to", "earliest", "--json").stdout) == found


@pytest.mark.parametrize(
    ("options", "groups", "since"),
    [
        (["--to", "earliest"], GROUPS, None),
        (["--to", "1970-01-01T00:00:01Z"], GROUPS, 1_000_000),
        (["--to", "earliest", "--group", "reporting", "--group", "feedback"], ["reporting", "feedback"], None),
    ],
)
def test_rewind_resets_all_groups_or_those_named(
    monkeypatch: pytest.MonkeyPatch, options: list[str], groups: Sequence[str], since: int | None
) -> None:
    asked: list[Any] = []

    async def reset(bootstrap: object, *given: Any) -> dict[str, int]:
        asked.append((str(bootstrap), *given))
        return {}

    monkeypatch.setattr("standalone.operations.rewind.rewind", reset)
    ended = agent_feedback_here("rewind", "--broker", "127.0.0.1:1", *options)
    assert ended.code == 0, ended.err
    assert asked == [("127.0.0.1:1", list(groups), since)]


def test_rewind_names_the_groups_if_one_is_unknown(invoked: Invoke) -> None:
    ended = invoked({}, "rewind", "rewind", "--to", "earliest", "--group", "nobody", "--group", "feedback")
    assert ended.exit_code == 2
    assert f"no such group: nobody; there are {', '.join(GROUPS)}." in " ".join(ended.stderr.split())


LEDGER = {"stored": 1_500, "unreadable": 0, "unreadable_at": [], "first_difference": None, "missing": 1_001, "extra": 2,
          "differing": 3, "stale": 4, "impossible": 5}  # fmt: skip


def test_verify_ledger_tells_the_difference_and_its_remedy(invoked: Invoke) -> None:
    agreed = invoked(LEDGER, "verify_ledger", "verify-ledger")
    assert agreed.exit_code == 0
    assert lines(agreed.stderr) == ["The ledger and the store agree on 1,500 feedback records."]
    differs = invoked(LEDGER | {"first_difference": "Feedback 7 is missing."}, "verify_ledger", "verify-ledger")
    assert differs.exit_code == 1
    assert lines(differs.stderr)[:2] == [
        "Feedback 7 is missing.", "1,001 missing, 2 extra, 3 differing, 4 stale, 5 impossible",
    ]  # fmt: skip
    assert "`republish` announces the whole store again" in differs.stderr
    junk = LEDGER | {"unreadable": 51, "unreadable_at": [f"p:{n}" for n in range(51)]}
    unreadable = invoked(junk, "verify_ledger", "verify-ledger")
    assert unreadable.exit_code == 1
    first, *rest = lines(unreadable.stderr)
    assert first.startswith("51 records of the ledger are not announcements: p:0, p:1,")
    assert first.endswith("p:49"), "at most fifty places"
    assert "--clear" in " ".join(rest) and "missing" not in " ".join(rest)
    shown = invoked(junk, "verify_ledger", "verify-ledger", "--json")
    assert (shown.exit_code, json.loads(shown.stdout)) == (1, junk)


RECEIPT = {"service": "inference", "confirmed_at": "2026-01-01T10:00:00.000000Z", "removed": 1_234}


def erased(monkeypatch: pytest.MonkeyPatch, *answers: dict[str, Any], more: tuple[str, ...] = ()) -> Result:
    """Run `erase` against a service that gives these answers in turn."""
    asked = iter(answers)
    monkeypatch.setattr("standalone.cli.erase._BETWEEN_LOOKS", 0)
    monkeypatch.setattr("standalone.cli.erase._asked", lambda *_, **__: next(asked))
    place = ["--url", "http://127.0.0.1:1", "--token", "t", "--tenant", "acme"]
    return CliRunner().invoke(app, ["erase", *place, *more])


def test_erase_waits_for_all_receipts_and_names_those_that_are_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    pending = {"request_id": "r", "complete": False, "receipts": [RECEIPT], "missing": ["feedback"]}
    done = pending | {"complete": True, "missing": []}
    ended = erased(monkeypatch, {"request_id": "r"}, {}, pending, done, more=("--user", "eve", "--yes"))
    assert ended.exit_code == 0
    row = "inference 2026-01-01T10:00:00.000000Z 1,234"
    assert lines(ended.stdout) == ["Request r: complete.", "service confirmed rows removed", row]
    late = erased(monkeypatch, pending, more=("--status", "r", "--wait", "0"))
    assert late.exit_code == 1
    assert lines(late.stdout)[0] == "Request r: not complete yet."
    assert lines(late.stdout)[-1] == "feedback not yet"
    unknown = erased(monkeypatch, {}, more=("--status", "r", "--wait", "0", "--json"))
    assert unknown.exit_code == 1
    assert json.loads(unknown.stdout) == pending | {"receipts": []}


def letter(number: int, reason: str = "invalid_json") -> tuple[int, tuple[str, int, int], dict[str, Any]]:
    facts = {
        "letter": f"t.dlq:0:{number}",
        "written_at": "2026-11-20T10:00:00.000000Z",
        "reason": reason,
        "detail": "x",
    }
    return number, ("t.dlq", 0, number), facts


def test_dlq_lists_the_newest_fifty_and_counts_all_by_reason(invoked: Invoke) -> None:
    found = [letter(n) for n in range(51, 0, -1)] + [letter(52, "made_up")]
    ended = invoked(found, "dlq", "dlq", "list")
    shown = lines(ended.stdout)
    assert shown[:2] == ["52 dead letters", "letter written reason detail"]
    assert shown[2] == "t.dlq:0:3 11-20 10:00 invalid_json x"
    assert shown[-1] == "t.dlq:0:52 11-20 10:00 made_up x"
    assert lines(ended.stderr)[0] == "The newest 50 of 52; --json gives all."
    assert lines(ended.stderr)[1].startswith("51 invalid_json: ")
    assert lines(ended.stderr)[2] == "1 made_up"
    one = invoked([letter(1)], "dlq", "dlq", "list")
    assert lines(one.stdout)[0] == "1 dead letter"
    assert "newest" not in one.stderr
    told = json.loads(invoked(found, "dlq", "dlq", "list", "--json").stdout)
    assert (told["count"], told["reasons"], len(told["letters"])) == (52, {"invalid_json": 51, "made_up": 1}, 52)


def test_dlq_replay_tells_what_became_of_the_letters(invoked: Invoke) -> None:
    facts = {"sent": 1_000, "letters": 1_234, "repeats": 200, "empty": 4, "too_large": 30}
    ended = invoked(facts, "dlq", "dlq", "replay", "--yes")
    assert lines(ended.stderr) == [
        "Sent 1,000 of 1,234 letters; 200 were duplicates, 4 contained no record, 30 are too large for their topic."
    ]


def test_dlq_show_tells_the_reason_and_shows_the_bytes(invoked: Invoke) -> None:
    found = SimpleNamespace(key=b"k", headers=[("h", b"v"), ("n", None)], value=b"{", reason="invalid_json")

    def shown(value: bytes | None, key: bytes | None, *more: str, monkeypatch: pytest.MonkeyPatch) -> Result:
        monkeypatch.setattr("standalone.operations.dlq.facts_of", lambda _: {"letter": "t.dlq:0:1"})
        given = SimpleNamespace(**vars(found) | {"value": value, "key": key})
        return invoked(given, "dlq", "dlq", "show", "t.dlq:0:1", *more)

    with pytest.MonkeyPatch.context() as patched:
        plain = lines(shown(b"{", b"k", monkeypatch=patched).stdout)
        assert plain[:3] == ["letter: t.dlq:0:1", "key: k", "headers: {'h': 'v', 'n': ''}"]
        assert plain[3].startswith("means: ")
        assert plain[-1] == "{"
        empty = json.loads(shown(None, None, "--json", monkeypatch=patched).stdout)
        assert empty == {"letter": "t.dlq:0:1", "key": None, "headers": {"h": "v", "n": ""}, "value_base64": None}
        assert json.loads(shown(b"{", b"k", "--json", monkeypatch=patched).stdout)["value_base64"] == "ew=="
    missing = invoked(None, "dlq", "dlq", "show", "t.dlq:0:1")
    assert (missing.exit_code, lines(missing.stderr)) == (1, ["There is no dead letter t.dlq:0:1."])


def differences() -> Differences:
    example = Example(
        MessageKey("acme", "p", "c1", "m1"), AnnouncedVerdict("rejected", "t1"), None, "No.\x1b[31m" + "x" * 200
    )
    return Differences(Counter(unchanged=1_000, withdrawn=234), {"withdrawn": [example]})


@pytest.mark.parametrize(
    ("epoch", "first"),
    [(None, "Detector d1 would change 234 of 1,234."), (3, "Detector d1 judged 1,234 messages in epoch 3.")],
)
def test_rejudge_tells_the_differences_and_shows_examples_without_texts(
    invoked: Invoke, epoch: int | None, first: str
) -> None:
    result = Rejudged(epoch, "d1", 1_790_000_000_000_000, differences())
    ended = invoked(result, "rejudge", "rejudge", "--since", "2026-01-01T00:00:00Z")
    assert lines(ended.stderr) == [first, "1,000 unchanged", "234 withdrawn", "0 added", "0 reversed", "0 moved"]
    assert lines(ended.stdout) == [
        "difference before after project conversation message", "withdrawn rejected t1 – acme/p c1 m1",
    ]  # fmt: skip
    facts = json.loads(invoked(result, "rejudge", "rejudge", "--since", "2026-01-01T00:00:00Z", "--json").stdout)
    assert (facts["epoch"], facts["judged"], facts["withdrawn"], facts["moved"]) == (epoch, 1_234, 234, 0)
    assert facts["examples"] == [
        {"tenant": "acme", "project": "p", "conversation_id": "c1", "message_id": "m1", "difference": "withdrawn",
         "before": {"verdict": "rejected", "turn_id": "t1"}, "after": None},
    ]  # fmt: skip


def printed(show: Callable[[Console], None]) -> list[str]:
    out = io.StringIO()
    show(Console(file=out, width=400))
    return lines(out.getvalue())


def test_a_terminal_shows_the_texts_of_examples_harmlessly_and_short() -> None:
    [_, row] = printed(lambda console: console.print(rejudge._examples(differences(), with_text=True)))
    assert row.startswith("withdrawn rejected t1 – acme/p c1 m1 No.\N{REPLACEMENT CHARACTER}[31mxxx")
    assert row.count("x") < 200


def test_evaluate_prints_every_number_with_its_interval() -> None:
    scores = {"recall": 0.5, "recall_low": 0.25, "recall_high": 0.75, "precision": 0.5}
    report = {"right": True, "rows": 1_234, "name": "x", "all_of": scores}
    assert printed(lambda console: evaluate._print_scores(console, report)) == [
        "rows 1,234", "all of", "recall 0.500 (0.250–0.750)", "precision 0.500",
    ]  # fmt: skip


def test_evaluate_aligns_names_to_the_left_and_numbers_to_the_right() -> None:
    out = io.StringIO()
    evaluate._print_scores(Console(file=out, width=80), {"rows": 1_234, "of": {"all": {"recall": 0.5}}, "n": 5})
    assert [line.rstrip() for line in out.getvalue().splitlines()] == [
        "rows        1,234", "of", "  all", "    recall  0.500", "n               5",
    ]  # fmt: skip


def test_evaluate_prints_differences_and_which_are_noise() -> None:
    found = [
        Difference("accuracy", 0.5, 0.75, 0.1, 0.4), Difference("recall", 0.75, 0.5, -0.4, -0.1),
        Difference("precision", None, 0.5, -0.1, 0.1),
    ]  # fmt: skip
    assert printed(lambda console: evaluate._print_differences(console, found)) == [
        "difference before after change 95 % interval",
        "accuracy 0.500 0.750 +0.250 +0.100 to +0.400 better",
        "recall 0.750 0.500 -0.250 -0.400 to -0.100 worse",
        "precision – 0.500 – -0.100 to +0.100 noise",
    ]
    assert printed(lambda console: evaluate._print_differences(console, [])) == []


def test_errors_of_the_detector_are_printed_with_labels_and_texts(capsys: pytest.CaptureFixture[str]) -> None:
    one = {"label": "rejected", "said": "accepted", "confidence": 0.5, "announced": True, "decided_by": "rules",
           "rules": ["a", "b"], "previous_assistant": "Here.", "message": "No."}  # fmt: skip
    print_errors([one, one | {"label": None, "announced": False, "rules": []}])
    assert lines(capsys.readouterr().out) == [
        "labelled rejected, called accepted 0.50, announced, by rules: a, b", "answer Here.", "message No.", "",
        "called accepted 0.50, not announced, by rules: nothing", "answer Here.", "message No.", "",
    ]  # fmt: skip


def test_report_prints_each_number_of_the_verdicts_and_records() -> None:
    numbers = {"conversations": 1_001, "total": 1_600, "user": 900, "machine": 700, "reviewer": 30, "ok": 1_000,
               "not_ok": 400, "neutral": 200}  # fmt: skip
    kinds = {"implicit": 1, "explicit": 2_000, "reaction": 3, "inferred": 4, "rating": 5}
    stored = {"stored": 2_013, "cleared": 6, "by_type": kinds}
    shown = printed(lambda console: print_report(console, {"report": numbers, "feedback": stored}))
    assert shown[0] == "Verdicts on agents' turns"
    assert [line.replace("│ ", "").strip("│ ") for line in shown if line.startswith("│")] == [
        "1,001 1,600 900 700 30 1,000 400 200 62%"
    ]
    assert shown[-1] == (
        "2,013 records stored (6 cleared): 1 implicit, 3 reaction, 2,000 explicit, 4 inferred, 5 rating."
    )
    nothing = {"report": dict.fromkeys(numbers, 0), "feedback": stored}
    assert any(line.endswith("0 │ - │") for line in printed(lambda console: print_report(console, nothing)))


@pytest.mark.parametrize(("hidden", "shown"), [(False, ["0/3", "3/3"]), (True, [])])
def test_a_progress_bar_leaves_nothing_on_the_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], hidden: bool, shown: list[str]
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    with progress_bar("Importing", 3, hidden) as advance:
        advance(1)
        advance(2)
    out, err = capsys.readouterr()
    assert out == ""
    assert [one for one in ("0/3", "3/3") if one in err] == shown
    assert hidden or err.endswith("\x1b[1A\x1b[2K"), "the line is erased"
