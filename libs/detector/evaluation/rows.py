"""Read the rows of evaluation files, determine their kind, and convert them to the detector's input.

Rows are read and scored, but never stored.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal, Protocol

from detector.model import Message, Neighbourhood, Target, Verdict

Row = Mapping[str, Any]
#: Kinds of rows by their labels. Phrases have an expected verdict and announced reaction, messages a label,
#: targets the answer that is meant. Unlabelled rows have none.
RowKind = Literal["phrases", "messages", "targets", "unlabelled"]

#: Required fields of each kind. Messages and phrases may have `history`, or `previous_user` and `previous_assistant`.
NEEDED: Final[Mapping[RowKind, tuple[str, ...]]] = {
    "messages": ("message", "label", "gate", "source"),
    "phrases": ("message", "label", "announced"),
    "unlabelled": ("message", "history", "source"),
    "targets": ("message", "history", "target_indices", "assistant_turns_back"),
}
#: Fields by which a kind is recognised. The first kind that matches the first row of a file is the file's kind.
_FIELDS: Final[tuple[tuple[RowKind, frozenset[str]], ...]] = (
    ("phrases", frozenset({"message", "label", "announced"})),
    ("messages", frozenset({"message", "label"})),
    ("targets", frozenset({"target_indices"})),
    ("unlabelled", frozenset({"message", "history"})),
)
_MINUTE: Final = 60_000_000


class Judge(Protocol):
    """Detector that is measured: `Detector`, or one with a language model behind it."""

    def judge(self, items: Sequence[Neighbourhood]) -> list[Verdict]: ...

    def locate(self, item: Neighbourhood) -> tuple[Target, ...]: ...


class UnknownRows(ValueError):
    """Raised if a file has no rows of a known kind. The message states the reason without quoting any texts."""


def read_rows(path: Path, needed: Sequence[str] | None = None) -> list[Row]:
    """Read the rows of a JSON Lines file.

    Lines end only at line feeds, because JSON strings may contain other line breaks.

    Args:
        path: The file.
        needed: Fields that each row must have. By default, these are the required fields of the first row's kind.

    Raises:
        UnknownRows: The file has no rows, or an invalid row.
    """
    rows: list[Row] = []
    for number, line in enumerate(path.read_bytes().split(b"\n"), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            raise UnknownRows(f"{path} line {number} is not JSON in UTF-8") from None
        if not isinstance(row, dict):
            raise UnknownRows(f"{path} line {number} is not a JSON object")
        needed = NEEDED[kind_of([row], path)] if needed is None else needed
        for field in needed:
            if field not in row:
                raise UnknownRows(f"{path} line {number} lacks the field `{field}`")
        rows.append(row)
    if not rows:
        raise UnknownRows(f"{path} contains no rows")
    return rows


def kind_of(rows: list[Row], path: Path) -> RowKind:
    """Determine the kind of rows from the fields of the first row.

    Raises:
        UnknownRows: No kind matches.
    """
    for kind, fields in _FIELDS:
        if fields <= rows[0].keys():
            return kind
    raise UnknownRows(
        f"{path} holds other rows: `label` and `message`, `target_indices`, or `history` and `message` "
        "are needed (see agent-feedback evaluate --help)"
    )


def neighbourhood(row: Row) -> Neighbourhood:
    """Convert the history and the message of a row to the detector's input, at intervals of one minute.

    If a row has no `history`, its `previous_user` and `previous_assistant` are used.
    """
    before = tuple(
        Message(
            message_id=f"m{number:06}",
            turn_id=f"t{number:06}",
            sender_id=turn["role"],
            role="agent" if turn["role"] == "assistant" else "human",
            agent_id="assistant" if turn["role"] == "assistant" else None,
            text=turn["text"],
            at=number * _MINUTE,
        )
        for number, turn in enumerate(_history(row))
    )
    message = Message("message", "turn", "user", "human", None, row["message"], len(before) * _MINUTE)
    return Neighbourhood(before, message)


def source_of(row: Row) -> str:
    """Return the source of a row, which is the part of the field `source` before the first slash."""
    return str(row["source"]).partition("/")[0]


def _history(row: Row) -> list[Mapping[str, Any]]:
    if "history" in row:
        return list(row["history"])
    turns = [("user", row.get("previous_user")), ("assistant", row.get("previous_assistant"))]
    return [{"role": role, "text": text} for role, text in turns if text]
