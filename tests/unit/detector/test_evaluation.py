"""Scores of hand-written rows whose figures can be computed by hand."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer

from detector.detector import Detector
from detector.evaluation import comparison, scoring
from detector.evaluation.errors import worst
from detector.evaluation.evaluate import evaluate
from detector.evaluation.messages import length_of
from detector.evaluation.rows import UnknownRows
from detector.evaluation.tables import markdown
from detector.model import Feedback, Target, Verdict
from standalone.cli.evaluate import evaluate as command

Command = Callable[..., None]


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("\n".join(json.dumps(row) for row in rows))
    return path


def row(message: str, label: str, gate: str, source: str = "hand/made") -> dict[str, Any]:
    history = [{"role": "user", "text": "when did it open"}, {"role": "assistant", "text": "It opened in 1932."}]
    return {"history": history, "message": message, "label": label, "gate": gate, "source": source, "tier": "strong"}


ROWS = [
    row("that's wrong", "rejected", "not_ok"),
    row("thanks a lot", "accepted", "ok"),
    row("that's wrong", "neutral", "neutral", "other/made"),
    row("forget it", "rejected", "not_ok", "other/made"),
]


def test_message_rows(detector: Detector, tmp_path: Path) -> None:
    report = evaluate(write(tmp_path / "rows.jsonl", ROWS), detector)
    assert report["accuracy"] == 0.75
    assert report["per_class"]["rejected"] == {"precision": 2 / 3, "recall": 1.0, "f1": pytest.approx(0.8)}
    assert report["macro_f1"] == pytest.approx((0.8 + 1.0 + 0.0) / 3)
    assert report["at_emission"]["rejected"]["recall"] == 1.0
    assert report["at_emission"]["rejected"]["precision_at_8pct"] == pytest.approx(0.08 / (0.08 + 0.92 * 0.5))
    assert report["gate"]["accuracy"] == 0.75


def test_target_rows(detector: Detector, tmp_path: Path) -> None:
    history = [
        {"role": "assistant", "text": "Have you tried the Blue Lantern?"},
        {"role": "user", "text": "no"},
        {"role": "assistant", "text": "Anything else?"},
    ]
    target = {
        "history": history,
        "message": "the Blue Lantern was awful",
        "target_indices": [0],
        "assistant_turns_back": 2,
    }
    report = evaluate(write(tmp_path / "targets.jsonl", [target]), detector)
    assert (report["accuracy"], report["accuracy_further_back"]) == (1.0, 1.0)
    near = {**target, "message": "no", "target_indices": [0, 2], "assistant_turns_back": 1}
    missed = {**target, "message": "that's wrong"}
    silent = {**target, "message": "no", "history": []}
    report = evaluate(write(tmp_path / "targets.jsonl", [target, near, missed, silent]), detector)
    names = ("rows", "accuracy", "rows_further_back", "accuracy_further_back")
    assert [report[name] for name in names] == [4, 0.5, 3, pytest.approx(1 / 3)]
    by_rules = evaluate(write(tmp_path / "targets.jsonl", [missed, silent]), detector)
    assert [by_rules["by_rules"][name] for name in names] == [1, 0.0, 1, 0.0]
    assert by_rules["by_verdict"] == by_rules["by_rules"]


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "contains no rows"),
        (b'{"text": "hello"}', "other rows"),
        (
            b'{"message": "x", "label": "rejected", "gate": "ok", "source": "s"}\n\xff\xfe',
            "line 2 is not JSON in UTF-8",
        ),
        (b'{"message": "x", "label": "y"}', "rows.jsonl line 1 lacks the field `gate`"),
        (b'{"label": "neutral", "message": "no", "source": "s"}', "line 1 lacks the field `gate`"),
        (b'{"message": "no", "history": [{"text": "x"}], "source": "s"}', "a row without 'role'"),
    ],
)
def test_what_cannot_be_read_says_why(detector: Detector, tmp_path: Path, content: bytes, why: str) -> None:
    (tmp_path / "rows.jsonl").write_bytes(content)
    with pytest.raises(UnknownRows, match=why):
        evaluate(tmp_path / "rows.jsonl", detector)


def test_auc_and_calibration_on_paper() -> None:
    assert scoring.auc([True, False, True], [0.9, 0.1, 0.1]) == pytest.approx(0.75)
    assert scoring.auc([True], [0.5]) == 0.5
    bins = scoring.reliability([0.95, 0.95, 0.55], [True, False, True])
    assert scoring.expected_calibration_error(bins) == pytest.approx((2 * 0.45 + 0.45) / 3)
    assert scoring.at_prevalence(0.0, 0.0) == 0.0
    assert scoring.at_prevalence(0.5, 0.01) == pytest.approx(0.04 / 0.0492)


@pytest.mark.parametrize(
    ("truth", "positive", "recall", "false_share"),
    [
        ("ab", [True, True], 1.0, 1.0),
        ("aabbb", [True, False, True, False, False], 1 / 2, 1 / 3),
        ("bb", [False, True], 0.0, 1 / 2),
        ("aa", [False, True], 1 / 2, 0.0),
    ],
)
def test_recall_and_false_positives(truth: str, positive: list[bool], recall: float, false_share: float) -> None:
    assert scoring.called(truth, positive, "a") == (recall, false_share)


def test_a_bin_includes_its_upper_bound_only() -> None:
    bins = scoring.reliability([0.1, 0.2, 0.15, 0.95, 1.0], [True, False, True, False, True])
    assert [(one["low"], one["high"], one["rows"], one["accuracy"]) for one in bins] == [
        (0.0, 0.1, 1, 1.0),
        (0.1, 0.2, 2, 0.5),
        (0.9, 1.0, 2, 0.5),
    ]
    assert [one["confidence"] for one in bins] == pytest.approx([0.1, 0.175, 0.975])
    assert scoring.expected_calibration_error([]) == 0.0


def rate(name: str, value: float) -> dict[str, float]:
    return {name: value, f"{name}_low": value - 0.1, f"{name}_high": value + 0.1}


def test_tables_show_each_kind_of_rows() -> None:
    targets = rate("accuracy", 0.51234) | rate("accuracy_further_back", 0.41234)
    found = {"kind": "targets", "rows": 1200, "rows_further_back": 8, **targets}
    shares = rate("announced_rejected", 0.31234) | rate("announced_ok", 0.21234) | rate("called_rejected", 0.41234)
    phrases = {"kind": "phrases", "rows": 9, "label": 8, "announced": 7, "both": 6, "false_rejections": 1}
    text = markdown(
        {
            "t": {**found, "by_verdict": {**found, "rows": 11}, "by_rules": {**found, "rows": 7}},
            "h": phrases,
            "u": {"kind": "unlabelled", "rows": 1200, **shares, "per_source": {"s": {"rows": 5, **shares}}},
        }
    )
    share = "0.312 (0.212–0.412) | 0.212 (0.112–0.312) | 0.412 (0.312–0.512)"
    blocks = [block.split("\n")[2:] for block in text.split("\n\n")]
    assert blocks == [
        [f"| **u** | 1,200 | {share} |", f"| u: s | 5 | {share} |"],
        ["| **h** | 9 | 8 | 7 | 6 | 1 |"],
        [
            f"| {part} | {rows} | 0.512 (0.412–0.612) | 8 | 0.412 (0.312–0.512) |"
            for part, rows in (("**t**", 1200), ("t: verdicts", 11), ("t: rules", 7))
        ],
    ]


def test_scores_of_parts_of_the_messages(detector: Detector, tmp_path: Path) -> None:
    weak = {"tier": "weak", "acceptable": ["rejected", "neutral"], "gate_acceptable": ["not_ok"]}
    rows = [*(one for one in ROWS[:2] for _ in range(10)), ROWS[2] | weak, ROWS[3]]
    report = evaluate(write(tmp_path / "rows.jsonl", rows), detector)
    of_two = pytest.approx(2 / 3)
    rejected = 2 * (11 / 12) / (1 + 11 / 12)
    assert report["macro_f1"] == pytest.approx((rejected + 1) / 3)
    assert report["macro_f1_lenient"] == report["gate"]["macro_f1_lenient"] == of_two
    assert report["gate"]["macro_f1"] == pytest.approx((rejected + 1) / 3)
    assert report["decided_by"] == {"rules": 22, "learned": 0, "llm": 0}
    assert report["rejected_precision_at_8pct"] == pytest.approx(0.08 / (0.08 + 0.92 / 11))
    assert report["at_emission"]["rejected"]["false_share"] == pytest.approx(1 / 11)


def verdict(feedback: Feedback, confidence: float, announced: bool = True, status_only: bool = False) -> Verdict:
    target = Target("t1", "a1", "bot", 0.9, 0.9, 0.9, 1) if announced else None
    return Verdict(feedback, None, confidence, None, "", target, (), "rules", "ok", status_only=status_only)


def test_the_worst_errors_are_announced_and_sure() -> None:
    judged = [
        verdict("rejected", 0.9, announced=False),
        verdict("accepted", 0.8),
        verdict("rejected", 0.95),
        verdict("neutral", 0.99),
        verdict("accepted", 0.99, status_only=True),
        verdict("accepted", 0.8),
    ]
    rows = [{"id": number, "label": "neutral", "message": "no"} for number in range(6)]
    assert [one["id"] for one in worst(rows, judged, 9)] == [2, 1, 5, 0]
    assert [one["id"] for one in worst(rows, judged, 2)] == [2, 1]
    [topic] = worst([{"id": 4, "label": "rejected", "message": "no"}], judged[4:5], 9)
    assert (topic["label"], topic["said"], topic["announced"]) == ("rejected", "accepted", False)


@pytest.mark.parametrize(
    ("words", "group"),
    [
        (5, "00-05 words"),
        (10, "06-10 words"),
        (26, "26-60 words"),
        (61, "61 words and more"),
    ],
)
def test_messages_are_grouped_by_length(words: int, group: str) -> None:
    assert length_of({"message": "word " * words}) == group


def test_announcements_as_they_come(detector: Detector, tmp_path: Path) -> None:
    report = evaluate(write(tmp_path / "rows.jsonl", ROWS), detector, by=["length", "source"], errors=5)
    rejected, ok = report["at_emission"]["rejected"], report["at_emission"]["ok"]
    assert (rejected["announced"], rejected["precision"]) == (3, pytest.approx(2 / 3))
    assert (ok["announced"], ok["precision"], ok["recall"]) == (1, 1.0, 1.0)
    assert report["by"]["source"]["other"]["at_emission"]["rejected"]["precision"] == 0.5
    assert report["by"]["length"].keys() == {"00-05 words"}
    [error] = report["errors"]
    assert (error["label"], error["said"], error["announced"]) == ("neutral", "rejected", True)
    assert "| rows: other | 2 |" in markdown({"rows": report})


@pytest.mark.parametrize(
    ("languages", "groups"),
    [
        (["en", "de"], {"en", "de"}),
        (["en", "de", "fr"], {"en", "de", "fr", "other than en"}),
        (["de", "fr"], {"de", "fr"}),
    ],
)
def test_other_languages_than_english_are_one_group_if_there_are_several(
    detector: Detector, tmp_path: Path, languages: list[str], groups: set[str]
) -> None:
    rows = [one | {"language": language} for language, one in zip(languages, ROWS, strict=False)]
    report = evaluate(write(tmp_path / "rows.jsonl", rows), detector, by=("language",))
    assert report["by"]["language"].keys() == groups


def outcomes(**rejections: list[bool]) -> dict[str, dict[str, comparison.RowOutcome]]:
    """One measurement per keyword: for each of its rejections, if it was announced."""
    said = {True: ("rejected", "not_ok"), False: ("neutral", None)}
    return {
        name: {str(row): comparison.RowOutcome("rejected", "not_ok", *said[one]) for row, one in enumerate(found)}
        for name, found in rejections.items()
    }


@pytest.mark.parametrize(("found", "noise"), [(11, True), (19, False)])
def test_a_difference_is_noise_if_its_interval_contains_zero(found: int, noise: bool) -> None:
    """Of twenty rejections, ten were announced before; ten others must change for a difference to show."""
    measured = outcomes(before=[at < 10 for at in range(20)], after=[at >= 20 - found for at in range(20)])
    recall = comparison.differences(measured["before"], measured["after"])[2]
    assert (recall.figure, recall.before, recall.after) == ("announced rejections: recall", 0.5, found / 20)
    assert recall.is_noise is noise
    same = comparison.differences(measured["before"], measured["before"])
    assert all(one.is_noise for one in same)


def test_each_rate_has_its_own_rows() -> None:
    said = (
        ("rejected", "not_ok", "rejected", "not_ok"),
        ("rejected", "not_ok", "neutral", None),
        ("accepted", "ok", "accepted", "ok"),
        ("accepted", "neutral", "accepted", "ok"),
        ("neutral", "neutral", "rejected", "not_ok"),
        ("accepted", "ok", "accepted", None),
        ("accepted", "ok", "accepted", None),
    )
    rows = {str(number): comparison.RowOutcome(*one) for number, one in enumerate(said)}
    assert {one.figure: one.before for one in comparison.differences(rows, rows)} == {
        "accuracy": 5 / 7,
        "announced rejections: precision": 1 / 2,
        "announced rejections: recall": 1 / 2,
        "announced ok: precision": 1 / 2,
        "announced ok: recall": 1 / 3,
    }


@pytest.mark.parametrize("content", [b"", b'{"rows": {"a": 5}}', b"\xff"])
def test_a_file_that_was_not_saved_says_so(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "saved.json").write_bytes(content)
    with pytest.raises(UnknownRows, match="was not written by `evaluate --save`"):
        comparison.read(tmp_path / "saved.json")


def test_the_command_saves_and_compares(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows, saved = write(tmp_path / "rows.jsonl", ROWS), tmp_path / "saved.json"
    command([rows], save=saved, sentence_encoder="none")
    assert not any(text in saved.read_text() for text in ("wrong", "thanks", "forget"))
    capsys.readouterr()
    command([rows], against=saved, sentence_encoder="none", as_json=True)
    found = {one["figure"]: one for one in json.loads(capsys.readouterr().out)["differences"]}
    assert found["accuracy"] == {
        "figure": "accuracy", "before": 0.75, "after": 0.75, "low": 0.0, "high": 0.0, "noise": True
    }  # fmt: skip
    command([rows], against=saved, sentence_encoder="none")
    assert "announced rejections: precision" in capsys.readouterr().out
    with pytest.raises(typer.Exit):
        command([write(tmp_path / "rows.jsonl", ROWS[:1])], against=tmp_path / "rows.jsonl", sentence_encoder="none")


@pytest.fixture
def command_here(detector: Detector, monkeypatch: pytest.MonkeyPatch) -> Command:
    """Return the command with the detector that the tests share, because loading one takes a second."""
    monkeypatch.setattr("standalone.cli.evaluate.detector_with", lambda _: detector)
    return command


def test_the_command_names_each_of_several_files(
    command_here: Command, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [write(tmp_path / f"{name}.jsonl", ROWS) for name in ("first", "second")]
    command_here(files, as_json=True)
    assert json.loads(capsys.readouterr().out).keys() == {"first", "second"}
    command_here(files)
    assert capsys.readouterr().err.split() == ["first", "second"]
    command_here(files[:1])
    assert capsys.readouterr().err == ""
    command_here(files, table=True, as_json=True)
    assert "| **first** | 4 |" in capsys.readouterr().out


def test_messages_without_labels_give_shares(detector: Detector, tmp_path: Path) -> None:
    bare = [{key: row[key] for key in ("history", "message", "source")} for row in ROWS]
    report = evaluate(write(tmp_path / "bare.jsonl", bare), detector)
    assert (report["kind"], report["announced_rejected"], report["announced_ok"]) == ("unlabelled", 0.75, 0.25)
    assert report["per_source"]["other"]["announced_rejected"] == 1.0


def test_phrases_are_right_where_label_and_announcement_are(detector: Detector, tmp_path: Path) -> None:
    asked = {"previous_user": "when did it open", "previous_assistant": "It opened in 1932."}
    phrases: list[dict[str, Any]] = [
        {**asked, "message": "that's wrong", "label": "rejected", "announced": "not_ok", "correction_type": "explicit"},
        {**asked, "message": "that's wrong", "label": "neutral", "announced": None},
        {**asked, "message": "thanks a lot", "label": "accepted", "announced": None},
    ]
    report = evaluate(write(tmp_path / "phrases.jsonl", phrases), detector)
    found = [report[key] for key in ("kind", "label", "announced", "both", "false_rejections", "correction_type")]
    assert found == ["phrases", 2, 1, 1, 1, 1]
