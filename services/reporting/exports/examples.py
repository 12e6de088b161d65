"""Conversion of feedback to training examples in TRL's conversational formats. No I/O.

Formats and column names follow "Dataset formats and types" in TRL's documentation. `kto` is unpaired preference, `dpo`
is preference with an explicit prompt, and `sft` is prompt-completion.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from contracts.instants import format_instant
from reporting.model.selection import Project

Format = Literal["kto", "dpo", "sft", "events"]
Split = Literal["train", "validation", "test"]
Missing = Literal[
    "answer_unknown", "answer_empty", "answer_edited", "question_unknown", "question_edited", "question_uncertain"
]
"""Reason why a verdict's answer or question cannot be part of an example.

`answer_empty`: the answer is deleted or has no text. `answer_edited`: it was edited after the verdict.
`question_edited`: the question was edited after the answer. `question_uncertain`: the answer replies to a message that
is unknown or empty, or an empty message of a person stands between question and answer.
"""
LeftOut = Missing | Literal["neutral", "not_rejected", "no_better_answer", "not_accepted"]
"""Reason why an export has no example of a judged answer.

The reasons that are not in `Missing` depend on the format: `dpo` needs a rejection and an accepted answer or a
correction, `sft` an accepted answer or a correction, and `kto` a verdict that is not neutral.
"""
Row = Mapping[str, Any]
Message = Mapping[str, str]
"""Message in a prompt, with `content` and `role`: `user` for a person and `assistant` for an agent."""
_RECORD_COLUMNS: Final = (
    "conversation_id", "turn_id", "agent_id", "agent_version", "model", "origin", "feedback_type", "value",
    "confidence", "language", "detector", "decided_by",
)  # fmt: skip
"""Columns of the record that all formats have."""
_EVENT_COLUMNS: Final = (
    "rn", "user_id", "reaction", "text", "tags", "correction", "correction_type", "emoji", "rating", "worst_rating",
    "best_rating",
)  # fmt: skip
"""Columns of the record that only `events` has."""


@dataclass(frozen=True, slots=True)
class FeedbackCase:
    """Feedback record with its context.

    Attributes:
        row: The feedback record, with the columns of `feedback.search`.
        exchange: The answer and its question, with the columns of `exchanges_of_feedback`.
        before: Messages before the question, oldest first.
        better: Later answer to the same request that was accepted, or None.
    """

    project: Project
    row: Row
    exchange: Row
    before: Sequence[Message] = ()
    better: str | None = None

    @property
    def complete(self) -> bool:
        """True if both the request and the answer are known. Only `events` uses incomplete cases."""
        return self.exchange["missing"] is None

    @property
    def prompt(self) -> list[Message]:
        return [*self.before, {"role": "user", "content": self.exchange["question"]}]


def kto(case: FeedbackCase) -> Iterator[dict[str, Any]]:
    """Yield an example `{prompt, completion, label}`. The label is True for ok and False for not_ok.

    Neutral verdicts and replies yield nothing.
    """
    if case.complete and case.row["reaction"] in ("ok", "not_ok"):
        yield {
            "prompt": case.prompt,
            "completion": _assistant(case.exchange["answer"]),
            "label": case.row["reaction"] == "ok",
            **_origin(case),
        }


def dpo(case: FeedbackCase) -> Iterator[dict[str, Any]]:
    """Yield up to two examples `{prompt, chosen, rejected}` for a rejected answer.

    The chosen answer is the person's correction in one example, and a later accepted answer in the other. An example is
    omitted if its chosen answer is missing or equal to the rejected one.
    """
    if not case.complete or case.row["reaction"] != "not_ok":
        return
    for source, chosen in (("correction", case.row["correction"]), ("later_answer", case.better)):
        if chosen and chosen != case.exchange["answer"]:
            yield {
                "prompt": case.prompt,
                "chosen": _assistant(chosen),
                "rejected": _assistant(case.exchange["answer"]),
                "pair": source,
                **_origin(case),
            }


def sft(case: FeedbackCase) -> Iterator[dict[str, Any]]:
    """Yield an example `{prompt, completion}`. The completion is the correction, or else the accepted answer."""
    completion = case.row["correction"] or (case.exchange["answer"] if case.row["reaction"] == "ok" else None)
    if case.complete and completion:
        yield {"prompt": case.prompt, "completion": _assistant(completion), **_origin(case)}


def events(case: FeedbackCase) -> Iterator[dict[str, Any]]:
    """Yield the feedback record with the message ids of its question and answer."""
    yield {
        **_origin(case),
        **{name: case.row[name] for name in _EVENT_COLUMNS},
        "answer_message_id": case.exchange["answer_id"],
        "question_message_id": case.exchange["question_id"],
    }


def left_out(case: FeedbackCase, wanted: Format) -> LeftOut:
    """Return the reason why an export in this format has no example of a case."""
    reaction = case.row["reaction"]
    if wanted == "kto" and reaction == "neutral":
        return "neutral"
    if wanted == "dpo" and reaction != "not_ok":
        return "not_rejected"
    if not case.complete:
        reason: Missing = case.exchange["missing"]
        return reason
    return "no_better_answer" if wanted == "dpo" else "not_accepted"


EXAMPLES: Final[Mapping[Format, Callable[[FeedbackCase], Iterator[dict[str, Any]]]]] = {
    "kto": kto,
    "dpo": dpo,
    "sft": sft,
    "events": events,
}


def _assistant(text: str) -> list[Message]:
    return [{"role": "assistant", "content": text}]


def person_hash(tenant: str, project: str, user_id: str) -> str:
    """Return a pseudonym of a person, the same in all exports of a project: 16 hexadecimal digits."""
    return hashlib.sha256(json.dumps([tenant, project, user_id]).encode()).hexdigest()[:16]


def split_of(person: str) -> Split:
    """Return the split of all examples with one person's questions: 80 % train, 10 % validation, 10 % test.

    Args:
        person: Pseudonym of the person.
    """
    tenth = int(person, 16) % 10
    return "test" if tenth == 0 else "validation" if tenth == 1 else "train"


def _origin(case: FeedbackCase) -> dict[str, Any]:
    """Return the columns that all formats have."""
    row = case.row
    person, asker = person_hash(*case.project, row["user_id"]), case.exchange["sender_id"]
    return {
        "feedback_id": str(row["feedback_id"]),
        **{name: row[name] for name in _RECORD_COLUMNS},
        "person": person,
        "split": split_of(person_hash(*case.project, asker) if asker else person),
        "ts": format_instant(row["occurred_at"]),
    }
