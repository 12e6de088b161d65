"""Conversion of feedback to training examples in TRL's conversational formats. No I/O.

Formats and column names follow "Dataset formats and types" in TRL's documentation. `kto` is unpaired preference, `dpo`
is preference with an explicit prompt, and `sft` is prompt-completion.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from contracts.instants import format_instant

Format = Literal["kto", "dpo", "sft", "events", "detector"]
RATING_COLUMNS: Final = ("rating", "scale", "worst_rating", "best_rating")
Row = Mapping[str, Any]
"""Row of a feedback record, with the columns of `queries.search`."""


@dataclass(frozen=True, slots=True)
class PromptMessage:
    """Message in a prompt. The role is `user` for a person and `assistant` for an agent."""

    role: Literal["user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True)
class FeedbackCase:
    """Feedback record with its context.

    Attributes:
        prompt: Messages before the answer, oldest first. The last one is the person's request.
        better: Later answer to the same request that was accepted, or None.
        people: For a machine verdict, the newest verdict of a person or reviewer on the turn.
        reviewed: True if `people` is the verdict of a review.
    """

    row: Row
    prompt: tuple[PromptMessage, ...] = ()
    answer: str | None = None
    answer_message_id: str | None = None
    question_message_id: str | None = None
    better: str | None = None
    people: str | None = None
    reviewed: bool = False
    meta: dict[str, Any] = field(default_factory=dict)

    @property
    def complete(self) -> bool:
        """Return True if both the request and the answer are known. Only `events` uses incomplete cases."""
        return bool(self.answer) and bool(self.prompt) and self.prompt[-1].role == "user"


def kto(case: FeedbackCase) -> Iterator[dict[str, Any]]:
    """Yield an example `{prompt, completion, label}`. The label is True for ok and False for not_ok.

    Neutral verdicts yield nothing.
    """
    if case.complete and case.row["reaction"] != "neutral":
        yield {
            "prompt": _messages(case.prompt),
            "completion": _assistant(case.answer),
            "label": case.row["reaction"] == "ok",
            **_origin(case.row),
        }


def dpo(case: FeedbackCase) -> Iterator[dict[str, Any]]:
    """Yield up to two examples `{prompt, chosen, rejected}` for a rejected answer.

    The chosen answer is the person's correction in one example, and a later accepted answer in the other. An example is
    omitted if its chosen answer is missing or equal to the rejected one.
    """
    if not case.complete or case.row["reaction"] != "not_ok":
        return
    for source, chosen in (("correction", case.row["correction"]), ("later_answer", case.better)):
        if chosen and chosen != case.answer:
            yield {
                "prompt": _messages(case.prompt),
                "chosen": _assistant(chosen),
                "rejected": _assistant(case.answer),
                "pair": source,
                **_origin(case.row),
            }


def sft(case: FeedbackCase) -> Iterator[dict[str, Any]]:
    """Yield an example `{prompt, completion}`. The completion is the correction, or else the accepted answer."""
    completion = case.row["correction"] or (case.answer if case.row["reaction"] == "ok" else None)
    if case.complete and completion:
        yield {"prompt": _messages(case.prompt), "completion": _assistant(completion), **_origin(case.row)}


def events(case: FeedbackCase) -> Iterator[dict[str, Any]]:
    """Yield the feedback record with the message ids of its question and answer."""
    row = case.row
    yield {
        **_origin(row),
        "answer_message_id": case.answer_message_id,
        "question_message_id": case.question_message_id,
        "user_id": row["user_id"],
        "reaction": row["reaction"],
        "value": row["value"],
        "text": row["text"],
        "tags": list(row["tags"]),
        "correction": row["correction"],
        "correction_type": row["correction_type"],
        "emoji": row["emoji"],
        **{name: row[name] for name in RATING_COLUMNS},
    }


def detector(case: FeedbackCase) -> Iterator[dict[str, Any]]:
    """Yield a machine verdict with a person's verdict on the same turn, for training or evaluating a detector."""
    row = case.row
    if case.complete and row["origin"] == "machine" and case.people is not None and row["text"]:
        yield {
            "history": [*_messages(case.prompt), *_assistant(case.answer)],
            "message": row["text"],
            "machine": row["reaction"],
            "people": case.people,
            "reviewed": case.reviewed,
            **_origin(row),
        }


EXAMPLES: Final[Mapping[Format, Callable[[FeedbackCase], Iterator[dict[str, Any]]]]] = {
    "kto": kto,
    "dpo": dpo,
    "sft": sft,
    "events": events,
    "detector": detector,
}


def _messages(said: tuple[PromptMessage, ...]) -> list[dict[str, str]]:
    return [{"role": one.role, "content": one.content} for one in said]


def _assistant(text: str | None) -> list[dict[str, str]]:
    return [{"role": "assistant", "content": text or ""}]


def _origin(row: Row) -> dict[str, Any]:
    """Return the columns that all formats have."""
    return {
        "feedback_id": str(row["feedback_id"]),
        "rn": row["rn"],
        "conversation_id": row["conversation_id"],
        "turn_id": row["turn_id"],
        "agent_id": row["agent_id"],
        "agent_version": row["agent_version"],
        "model": row["model"],
        "origin": row["origin"],
        "feedback_type": row["feedback_type"],
        "confidence": row["confidence"],
        "detector": row["detector"],
        "decided_by": row["decided_by"],
        "ts": format_instant(row["occurred_at"]),
    }
