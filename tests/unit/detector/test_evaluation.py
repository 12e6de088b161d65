"""Scores of hand-written rows whose figures can be computed by hand."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import typer

from contracts.intervals import wilson
from detector.detector import Detector
from detector.evaluation import comparison, scoring
from detector.evaluation.evaluate import evaluate
from detector.evaluation.plotting import plot
from detector.evaluation.rows import NEEDED, UnknownRows, neighbourhood
from detector.evaluation.tables import markdown
from standalone.cli.evaluate import evaluate as command


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
    assert report["per_source"]["other"]["balanced_accuracy"] == 0.5
    assert report["at_emission"]["rejected"]["recall"] == 1.0
    assert report["at_emission"]["rejected"]["precision_at_8pct"] == pytest.approx(0.08 / (0.08 + 0.92 * 0.5))
    assert report["gate"]["accuracy"] == 0.75
    assert set(report["latency_ms"]) == {"p50", "p99"}
    plot(report, tmp_path / "plot.png")
    assert (tmp_path / "plot.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(("yes", "no"), [("yes", "no"), (True, False)])
def test_pair_rows(detector: Detector, tmp_path: Path, yes: object, no: object) -> None:
    same = {"a": "how old are you", "b": "what is your age, how old are you?", "same_intent": yes, "source": "x"}
    other = {"a": "how old are you", "b": "print a list of files", "same_intent": no, "source": "x"}
    report = evaluate(write(tmp_path / "pairs.jsonl", [same, other]), detector)
    assert (report["auc"], report["accuracy"]) == (1.0, 1.0)


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


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "contains no rows"),
        (b"\n \n", "contains no rows"),
        (b'{"text": "hello"}', "other rows"),
        (b'{"a": "x", "b": "y", "same_intent": "yes", "source": "s"}\n\xff\xfe', "line 2 is not JSON in UTF-8"),
        (b"[" * 100_000, "line 1 is not JSON"),
        (b"[1]", "line 1 is not a JSON object"),
        (b'{"a": "x", "b": "y"}', "rows.jsonl line 1 lacks the field `same_intent`"),
        (
            b'{"label": "neutral", "message": "no", "announced": null}\n\n{"message": "no"}',
            "line 3 lacks the field `label`",
        ),
        (b'{"label": "neutral", "message": "no", "source": "s"}', "line 1 lacks the field `gate`"),
        (b'{"message": "no", "history": [{"text": "x"}], "source": "s"}', "a row without 'role'"),
        (b'{"a": 1, "b": 2, "same_intent": "yes", "source": "s"}', "the wrong type"),
        (b'{"label": "rejected", "message": "no", "announced": null, "history": 5}', "the wrong type"),
    ],
)
def test_what_cannot_be_read_says_why(detector: Detector, tmp_path: Path, content: bytes, why: str) -> None:
    (tmp_path / "rows.jsonl").write_bytes(content)
    with pytest.raises(UnknownRows, match=why):
        evaluate(tmp_path / "rows.jsonl", detector)


def test_a_text_may_hold_other_ends_of_lines(detector: Detector, tmp_path: Path) -> None:
    row = {"a": "one\u2028two", "b": "one\x85two", "same_intent": "yes", "source": "s"}
    (tmp_path / "rows.jsonl").write_text(json.dumps(row, ensure_ascii=False), encoding="utf-8")
    assert evaluate(tmp_path / "rows.jsonl", detector)["rows"] == 1


def test_messages_of_a_row_are_a_minute_apart() -> None:
    row = {"history": [{"role": "user", "text": "a"}, {"role": "assistant", "text": "b"}], "message": "c"}
    item = neighbourhood(row)
    minute = 60_000_000
    assert [(one.role, one.text, one.at) for one in (*item.before, item.message)] == [
        ("human", "a", 0),
        ("agent", "b", minute),
        ("human", "c", 2 * minute),
    ]


def test_auc_and_calibration_on_paper() -> None:
    assert scoring.auc([True, False, True], [0.9, 0.1, 0.1]) == pytest.approx(0.75)
    assert scoring.auc([True], [0.5]) == 0.5
    bins = scoring.reliability([0.95, 0.95, 0.55], [True, False, True])
    assert scoring.expected_calibration_error(bins) == pytest.approx((2 * 0.45 + 0.45) / 3)
    assert scoring.at_prevalence(0.0, 0.0) == 0.0


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


def test_the_ranking_of_announced_rejections_has_an_auc(detector: Detector, tmp_path: Path) -> None:
    said = ("that's wrong", "forget it")
    verdicts = detector.judge([neighbourhood(row(text, "rejected", "not_ok")) for text in said])
    first, last = sorted(zip((one.scores["ranking"] for one in verdicts), said, strict=True))
    assert first[0] < last[0]
    for (_, wrong), (_, right), auc in ((first, last, 1.0), (last, first, 0.0)):
        rows = [
            row(wrong, "neutral", "neutral"),
            row(right, "rejected", "not_ok"),
            row("thanks a lot", "accepted", "ok"),
        ]
        announced = evaluate(write(tmp_path / "rows.jsonl", rows), detector)["at_emission"]
        assert announced["rejected"]["ranking_auc"] == auc
        assert "ranking_auc" not in announced["ok"]


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


def test_shares_have_wilson_intervals(detector: Detector, tmp_path: Path) -> None:
    report = evaluate(write(tmp_path / "rows.jsonl", ROWS), detector)
    rejected = report["at_emission"]["rejected"]
    assert (rejected["precision_low"], rejected["precision_high"]) == pytest.approx(wilson(2, 3))
    assert (rejected["recall_low"], rejected["recall_high"]) == pytest.approx(wilson(2, 2))
    assert (report["accuracy_low"], report["accuracy_high"]) == pytest.approx(wilson(3, 4))
    assert "2 of 3, 0.67 (0.21–0.94)" in markdown({"rows": report})


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


def test_a_share_without_rows_is_noise() -> None:
    measured = outcomes(before=[True] * 20, after=[False] * 20)
    precision = comparison.differences(measured["before"], measured["after"])[1]
    assert (precision.figure, precision.before, precision.after) == ("announced rejections: precision", 1.0, None)
    assert (precision.low, precision.high, precision.is_noise) == (-1.0, 1.0, True)


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


def test_only_rows_of_both_measurements_are_compared() -> None:
    measured = outcomes(before=[True, False], after=[True, False, False, False])
    recall = comparison.differences(measured["before"], measured["after"])[2]
    assert (recall.before, recall.after) == (0.5, 0.5)


@pytest.mark.parametrize("content", [b"", b"[1]", b'{"rows": {"a": 5}}', b'{"rows": {"a": ["x"]}}', b"\xff"])
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


def test_the_help_names_every_field_and_its_example_is_a_row(detector: Detector, tmp_path: Path) -> None:
    text = " ".join(str(command.__doc__).split())
    for kind, fields in NEEDED.items():
        assert all(f"`{field}`" in text for field in fields), kind
    [example] = re.findall(r"`({[^`]*\"label\"[^`]*})`", text)
    (tmp_path / "rows.jsonl").write_text(example)
    report = evaluate(tmp_path / "rows.jsonl", detector)
    assert (report["kind"], report["rows"], report["macro_f1"]) == ("messages", 1, pytest.approx(1 / 3))


def test_a_target_shows_the_recall_that_it_costs(detector: Detector, tmp_path: Path) -> None:
    found = evaluate(write(tmp_path / "rows.jsonl", ROWS), detector, target_precision=0.9)["at_target"]
    assert found["target"] == 0.9
    shown = ("precision", "recall", "announced_at_target", "recall_at_target")
    assert [found["rejected"][name] for name in shown] == [2 / 3, 1.0, 0, 0.0]
    assert [found["ok"][name] for name in shown] == [1.0, 1.0, 1, 1.0]
    assert found["rejected"]["published_high"] < 0.9 < found["ok"]["published_high"]
    assert "at_target" not in evaluate(tmp_path / "rows.jsonl", detector)
