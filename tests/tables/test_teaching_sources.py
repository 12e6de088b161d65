"""Labelled turns of public conversations: pointers and labels without text, and no owner that is reserved for
evaluation."""

from __future__ import annotations

import json
import re
from pathlib import Path

TRAINING = Path(__file__).parents[2] / "training"
ROWS = [json.loads(line) for line in (TRAINING / "sources.jsonl").read_text().splitlines()]
#: Turns with one reading only.
SINGLE = [json.loads(line) for line in (TRAINING / "sources_single.jsonl").read_text().splitlines()]
CLASSES = {"rejects", "asks_again", "leaves", "praises", "approves", "answers", "request"}
PERMISSIVE = {"MIT", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "CC0-1.0"}


def test_every_row_is_a_pointer_with_two_readings_and_a_label() -> None:
    fields = {"repository", "commit", "path", "position", "licence", "digest", "readings", "sure", "label"}
    assert len(ROWS) > 1_000
    for row in ROWS:
        assert set(row) == fields
        assert re.fullmatch(r"[0-9a-f]{40}", row["commit"]) and re.fullmatch(r"[0-9a-f]{16}", row["digest"])
        assert len(row["readings"]) == 2 and {*row["readings"], row["label"]} <= CLASSES
        if row["readings"][0] == row["readings"][1]:
            assert row["label"] == row["readings"][0]
    places = [(row["repository"], row["commit"], row["path"], row["position"]) for row in ROWS]
    assert len(set(places)) == len(places)


def test_a_turn_with_one_reading_has_it_as_its_label_and_is_in_one_file_only() -> None:
    assert len(SINGLE) == 240
    for row in SINGLE:
        assert set(row) == set(ROWS[0]) and row["readings"] == [row["label"]] and row["label"] in CLASSES
    assert not {row["repository"].partition("/")[0] for row in SINGLE} & {
        row["repository"].partition("/")[0] for row in ROWS
    }


def test_no_owner_is_kept_back_and_every_licence_is_permissive() -> None:
    assert {row["repository"][0].lower() for row in [*ROWS, *SINGLE]} <= set("abcdefghijklm")
    assert {row["licence"].partition(" ")[0] for row in [*ROWS, *SINGLE]} <= PERMISSIVE


def test_the_readers_agree_as_the_decision_says() -> None:
    agreed = sum(row["readings"][0] == row["readings"][1] for row in ROWS)
    assert round(agreed / len(ROWS), 3) == 0.958
    assert len(ROWS) - agreed == 52
