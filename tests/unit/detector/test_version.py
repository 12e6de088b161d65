"""A detector's version changes with everything that its verdicts depend on, and with nothing else."""

from __future__ import annotations

import os
import re
import time
from pathlib import Path
from shutil import copytree

import pytest

from contracts.detectors import GATE, WORDS, precedence
from detector.detector import Detector
from detector.version import HOME, RELEASED, digest_of_files, version, version_with_gate

ENCODER = "all-minilm"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Return a copy of the package."""
    return Path(copytree(HOME, tmp_path / "detector"))


def of(home: Path, encoder: str | None = ENCODER) -> str:
    digest_of_files.cache_clear()
    return version(("words",), encoder=encoder, home=home)


def test_a_version_has_the_date_of_the_data_and_eight_digits(detector: Detector) -> None:
    assert re.fullmatch(rf"{RELEASED}\.[0-9a-f]{{8}}{WORDS}", detector.version)
    assert re.fullmatch(rf"{RELEASED}\.[0-9a-f]{{8}}", of(HOME))
    assert precedence(detector.version) < precedence(of(HOME))


@pytest.mark.parametrize("changed", ["weights/classifier.json", "weights/reader.onnx", "patterns/en.tsv", "rules.py"])
def test_other_weights_patterns_or_rules_make_another_version(home: Path, changed: str) -> None:
    before = of(home)
    with (home / changed).open("a") as file:
        file.write("\n")
    assert of(home) != before


@pytest.mark.parametrize("changed", ["explain.py", "evaluation/scoring.py"])
def test_what_no_verdict_depends_on_makes_no_other_version(home: Path, changed: str) -> None:
    before = of(home)
    (home / changed).write_text("")
    assert of(home) == before


def test_times_of_files_and_places_make_no_other_version(home: Path) -> None:
    os.utime(home / "weights" / "classifier.json", (0, 0))
    assert of(home) == of(HOME)


def test_the_encoder_makes_another_version(detector: Detector) -> None:
    assert len({of(HOME), of(HOME, "other"), of(HOME, None)}) == 3
    assert Detector.default().version == Detector.default().version


def test_another_model_or_instructions_for_it_make_another_version(tmp_path: Path) -> None:
    def asking(model: str) -> str:
        digest_of_files.cache_clear()
        return version_with_gate(of(HOME), model, tmp_path)

    (tmp_path / "question.py").write_text("INSTRUCTIONS = 'Judge.'")
    first = asking("small")
    assert first == asking("small") != asking("large")
    assert first.endswith(GATE)
    assert version_with_gate(of(HOME, None), "small", tmp_path).endswith(WORDS + GATE)
    (tmp_path / "question.py").write_text("INSTRUCTIONS = 'Judge it.'")
    assert asking("small") != first
    assert precedence(first) > precedence(of(HOME))


def test_a_version_is_computed_in_a_moment() -> None:
    started = time.process_time()
    of(HOME)
    assert time.process_time() - started < 0.1
