"""Rows of a file to judge: which of the five kinds they are, and what a detector is shown of them.

Rows are read and scored, never kept.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal

from detector.model import Message, Neighbourhood

Row = Mapping[str, Any]
#: phrases: what must come out, the announced reaction included; messages: a label; pairs: whether two requests want the
#: same; targets: which answer is meant; unlabelled: messages alone.
RowKind = Literal["phrases", "messages", "pairs", "targets", "unlabelled"]

#: What every row of a kind holds. Messages and phrases may bring `history`, or `previous_user` and
#: `previous_assistant`, too.
NEEDED: Final[Mapping[RowKind, tuple[str, ...]]] = {
    "messages": ("message", "label", "gate", "source"),
    "phrases": ("message", "label", "announced"),
    "unlabelled": ("message", "history", "source"),
    "pairs": ("a", "b", "same_intent", "source"),
    "targets": ("message", "history", "target_indices", "assistant_turns_back"),
}
#: The first kind whose fields a file's first row holds.
_FIELDS: Final[tuple[tuple[RowKind, frozenset[str]], ...]] = (
    ("phrases", frozenset({"message", "label", "announced"})),
    ("messages", frozenset({"message", "label"})),
    ("pairs", frozenset({"a", "b"})),
    ("targets", frozenset({"target_indices"})),
    ("unlabelled", frozenset({"message", "history"})),
)
_MINUTE: Final = 60_000_000


class UnknownRows(ValueError):
    """The file does not hold rows of one of the kinds; the message says why, without their texts."""


def read_rows(path: Path, needed: Sequence[str] | None = None) -> list[Row]:
    """The rows of a JSON-lines file, split at line feeds alone: JSON may hold other line ends.

    Each holds the fields `needed`; without them, those of the kind that the first row is of. Raises UnknownRows.
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
            raise UnknownRows(f"{path} line {number} is no JSON object")
        needed = NEEDED[kind_of([row], path)] if needed is None else needed
        for field in needed:
            if field not in row:
                raise UnknownRows(f"{path} line {number} lacks the field `{field}`")
        rows.append(row)
    if not rows:
        raise UnknownRows(f"{path} holds no rows")
    return rows


def kind_of(rows: list[Row], path: Path) -> RowKind:
    """Told by the fields of the first row. Raises UnknownRows."""
    for kind, fields in _FIELDS:
        if fields <= rows[0].keys():
            return kind
    raise UnknownRows(
        f"{path} holds other rows: `label` and `message`, `a` and `b`, `target_indices`, or `history` and `message` "
        "are needed (see agent-feedback evaluate --help)"
    )


def neighbourhood(row: Row) -> Neighbourhood:
    """A row's history and message, a minute apart; `previous_user` and `previous_assistant` stand for a history."""
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
    """The part of `source` before a slash."""
    return str(row["source"]).partition("/")[0]


def _history(row: Row) -> list[Mapping[str, Any]]:
    if "history" in row:
        return list(row["history"])
    said = [("user", row.get("previous_user")), ("assistant", row.get("previous_assistant"))]
    return [{"role": role, "text": text} for role, text in said if text]
