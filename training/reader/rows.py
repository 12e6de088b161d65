"""Rows that the reader is taught on: written exchanges, and labelled turns with coding agents."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any, Final

HOME: Final = Path(__file__).parent.parent
#: Classes of messages, in the order of the reader's outputs.
CLASSES: Final = ("explicit", "rephrased", "abandonment", "approval", "continuation", "none")
_CLASS_OF_ACCEPTED: Final = {"ok": "approval", "neutral": "continuation"}
#: Weight of a row whose label two careful readers might dispute.
UNSURE: Final = 0.6
#: Weight of a turn between a person and a coding agent.
TURN: Final = 2.5
FOLDS: Final = 3
#: Files that were written later -> their fold. They do not change the folds of the other files.
LATER: Final = {"talk_agents": 1, "talk_service": 0, "talk_steps": 1, "talk_tasks": 0, "varied": 1}
#: Weight of a row that was generated from templates, and of one that was combined of two.
GENERATED: Final = 0.4
DISPLACED: Final = 0.5
#: Words of a request that states a problem.
_PROBLEM: Final = re.compile(
    r"n't\b|\b(?:not?|error|broken|wrong|stopped|missing|declined|fail|keeps|stuck|never|without|lost|double|crash)",
    re.I,
)


@dataclass(frozen=True, slots=True)
class Row:
    """Exchange with the class of its message.

    Attributes:
        group: Writer of the exchange, or owner of the repository that a turn comes from.
        weight: Weight in training.
        fold: Number of the fold of `group`.
    """

    request: str
    answer: str
    message: str
    label: str
    group: str
    language: str
    weight: float
    fold: int


def written(folder: Path) -> Iterator[Row]:
    """Yield the written exchanges in the JSON Lines files of a folder. Each file has one writer."""
    for number, path in enumerate(sorted(folder.glob("*.jsonl"))):
        for line in path.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            weight = 1.0 if row["sure"] else UNSURE
            yield Row(
                row["request"],
                row["answer"],
                row["message"],
                class_of(row),
                path.stem,
                row.get("language", "en"),
                weight,
                LATER.get(path.stem, number % FOLDS),
            )


def class_of(row: dict[str, Any]) -> str:
    """Return the class of an exchange's message."""
    match row["label"]:
        case "rejected":
            return str(row["kind"])
        case "accepted":
            return _CLASS_OF_ACCEPTED[row["gate"]]
        case _:
            return "none"


def turns(path: Path) -> Iterator[Row]:
    """Yield the labelled turns in the file that `python -m training.turns` writes."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    owners = sorted({owner_of(row) for row in rows})
    for row in rows:
        owner, weight = owner_of(row), TURN * (1.0 if row["sure"] else UNSURE)
        texts = row["previous_user"], row["previous_assistant"], row["message"]
        yield Row(*texts, class_of(row), owner, row["language"], weight, owners.index(owner) % FOLDS)


def owner_of(row: dict[str, Any]) -> str:
    """Return the owner of the repository that a turn comes from."""
    return str(row["source"]).partition("/")[0]


def templates(path: Path) -> Iterator[Row]:
    """Yield the rows of the file of exchanges that were generated from templates. A fold holds whole domains."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    domains = sorted({row["domain"] for row in rows})
    for row in rows:
        fold = domains.index(row["domain"]) % FOLDS
        yield Row(row["request"], row["answer"], row["message"], class_of(row), row["domain"], "en", GENERATED, fold)


def displaced(rows: Sequence[Row], count: int) -> Iterator[Row]:
    """Yield requests that follow an answer of another subject, which they do not reject.

    Half of the requests state a problem, so that a problem is not taken for a rejection if it is of another subject.

    Args:
        rows: Written exchanges in one language.
        count: Number of rows.
    """
    random = Random(1)
    requests = sorted({(row.request, row.group) for row in rows if 3 <= len(row.request.split()) <= 30})
    problems = [pair for pair in requests if _PROBLEM.search(pair[0])]
    answered = [row for row in rows if row.label in ("approval", "continuation")]
    for number in range(count):
        request, writer = random.choice(problems if number % 2 else requests)
        row = random.choice(answered)
        if row.group != writer:
            yield replace(row, message=request, label="continuation", weight=DISPLACED)


def reworded(path: Path, rows: Sequence[Row], count: int) -> Iterator[Row]:
    """Yield pairs of requests as exchanges: the second one asks again if both mean the same, or else goes on."""
    random = Random(2)
    pairs = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    rejected = [row for row in rows if row.label == "explicit"]
    answered = [row for row in rows if row.label in ("approval", "continuation")]
    for pair in random.sample(pairs, count):
        row = random.choice(rejected if pair["same"] else answered)
        label = "rephrased" if pair["same"] else "continuation"
        yield replace(row, request=pair["a"], message=pair["b"], label=label, weight=DISPLACED)


def rows_of(written_folder: Path, turns_file: Path, templates_file: Path) -> list[Row]:
    """Return the English rows of all sources."""
    english = [row for row in written(written_folder) if row.language == "en"]
    return [
        *english,
        *(row for row in turns(turns_file) if row.language == "en"),
        *templates(templates_file),
        *displaced(english, 1200),
        *reworded(HOME / "pairs.jsonl", english, 500),
    ]
