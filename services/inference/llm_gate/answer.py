"""Answers of a language model about a message: their schema, parsing, and verdict. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import from_json

from detector.model import CorrectionType, GateCall, Target, Verdict

Reason = Literal["explicit", "rephrased", "abandonment", "thanks", "continuation", "none"]

#: How an answer is turned down; for any other reason given, it is so in plain words.
_REJECTED_BY: Final[Mapping[Reason, CorrectionType]] = {"rephrased": "rephrased", "abandonment": "abandonment"}


class WrongAnswer(ValueError):
    """The model has answered, but not what it was asked. Never holds the answer."""


class LlmAnswer(BaseModel):
    """One answer. `confidence` is in [0, 1]; `about` the number of the agent's answer meant, from 1, None for the
    likeliest."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid", hide_input_in_errors=True)

    is_feedback: bool
    reaction: GateCall
    confidence: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
    about: Annotated[int, Field(ge=1)] | None
    reason: Reason


SCHEMA: Final[dict[str, Any]] = LlmAnswer.model_json_schema()


def answer_in(completion: bytes, numbered: int) -> LlmAnswer:
    """The answer in the body of a chat completion about `numbered` answers. Raises WrongAnswer where there is none."""
    try:
        content = from_json(completion)
    except (ValueError, RecursionError):
        raise WrongAnswer("no JSON") from None
    match content:
        case {"choices": [{"message": {"content": str(content)}}, *_]}:
            answer = read_answer(content)
        case _:
            raise WrongAnswer("no chat completion")
    if answer.about is not None and answer.about > numbered:
        raise WrongAnswer("about an answer that was not shown")
    return answer


def read_answer(content: str) -> LlmAnswer:
    """Raises WrongAnswer where `content` is not exactly the JSON of the schema."""
    try:
        answer = LlmAnswer.model_validate_json(content)
    except (ValidationError, ValueError, RecursionError):
        raise WrongAnswer("not as the schema says") from None
    return answer.model_copy(update={"confidence": round(answer.confidence, 6)})


def speaks(answer: LlmAnswer) -> bool:
    """Return True if the message accepts or rejects an answer."""
    return answer.is_feedback and answer.reaction != "neutral"


def apply_answer(verdict: Verdict, answer: LlmAnswer, target: Target | None) -> Verdict:
    """The verdict by a model's answer where rules and learned layer came to `verdict`.

    A message on a new topic is no feedback either, so what it makes of the earlier turn's status stands.
    """
    if not speaks(answer) and verdict.status_only:
        return verdict
    said = replace(
        verdict,
        confidence=answer.confidence,
        rules=(f"llm.{answer.reason}",),
        decided_by="llm",
        status_only=False,
    )
    if not speaks(answer):
        return replace(said, feedback="neutral", reaction=None, correction_type=None, target=None, gate="neutral")
    if answer.reaction == "not_ok":
        kind = _REJECTED_BY.get(answer.reason, "explicit")
        return replace(said, feedback="rejected", reaction="not_ok", correction_type=kind, target=target, gate="not_ok")
    gate: GateCall = "neutral" if answer.reason == "continuation" else "ok"
    return replace(said, feedback="accepted", reaction="ok", correction_type=None, target=target, gate=gate)
