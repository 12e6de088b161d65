"""The language model's answer: JSON schema, parser and conversion to a verdict. No I/O."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from chat_completions.completion import WrongAnswer, content_in
from detector.model import CorrectionType, GateCall, Target, Verdict

Reason = Literal["explicit", "rephrased", "abandonment", "thanks", "continuation", "none"]

#: Correction type by the reason that the model gives for a rejection. Every other reason is an explicit rejection.
_REJECTED_BY: Final[Mapping[Reason, CorrectionType]] = {"rephrased": "rephrased", "abandonment": "abandonment"}


class LlmAnswer(BaseModel):
    """The language model's answer about a message.

    `about` is the number of the agent's answer that the message judges, counted from 1, or None if that is unclear.
    """

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid", hide_input_in_errors=True)

    is_feedback: bool
    reaction: GateCall
    confidence: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
    about: Annotated[int, Field(ge=1)] | None
    reason: Reason


SCHEMA: Final[dict[str, Any]] = LlmAnswer.model_json_schema()


def answer_in(completion: bytes, numbered: int) -> LlmAnswer:
    """Parse the model's answer from the body of a chat completion.

    Args:
        numbered: Number of agent messages that the request showed to the model.

    Raises:
        WrongAnswer: The completion or the answer is invalid, or refers to an agent message that was not shown.
    """
    answer = read_answer(content_in(completion))
    if answer.about is not None and answer.about > numbered:
        raise WrongAnswer("about an answer that was not shown")
    return answer


def read_answer(content: str) -> LlmAnswer:
    """Parse the JSON text of an answer.

    Raises:
        WrongAnswer: The text does not match the schema.
    """
    try:
        answer = LlmAnswer.model_validate_json(content)
    except (ValidationError, ValueError, RecursionError):
        raise WrongAnswer("not as the schema says") from None
    return answer.model_copy(update={"confidence": round(answer.confidence, 6)})


def judges_answer(answer: LlmAnswer) -> bool:
    """Return True if the model found that the message accepts or rejects an answer."""
    return answer.is_feedback and answer.reaction != "neutral"


def apply_answer(verdict: Verdict, answer: LlmAnswer, target: Target | None) -> Verdict:
    """Return the verdict that follows from the model's answer.

    It replaces `verdict`, which comes from the rules and the learned layer. If `verdict` marks a new topic and the
    model finds no feedback, `verdict` is kept, because it sets the turn's status.

    Args:
        target: The agent message that the feedback is about.
    """
    if not judges_answer(answer) and verdict.status_only:
        return verdict
    judged = replace(
        verdict,
        confidence=answer.confidence,
        rules=(f"llm.{answer.reason}",),
        decided_by="llm",
        rule="llm",
        status_only=False,
    )
    if not judges_answer(answer):
        return replace(judged, feedback="neutral", reaction=None, correction_type=None, target=None, gate="neutral")
    if answer.reaction == "not_ok":
        kind = _REJECTED_BY.get(answer.reason, "explicit")
        return replace(
            judged, feedback="rejected", reaction="not_ok", correction_type=kind, target=target, gate="not_ok"
        )
    gate: GateCall = "neutral" if answer.reason == "continuation" else "ok"
    return replace(judged, feedback="accepted", reaction="ok", correction_type=None, target=target, gate=gate)
