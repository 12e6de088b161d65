"""Conversion of verdicts to the events that announce or retract them. No I/O.

The announcement threshold is defined in `contracts/detectors.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from contracts.base import PERSON, TEXT_LIMIT
from contracts.detectors import DetectorVersion
from contracts.feedback import FeedbackInferredReceived, InferenceTarget
from contracts.ids import derived_id, feedback_id
from contracts.provenance import NO_PROVENANCE
from contracts.topics import INFERRED_RECEIVED
from detector.addressing import in_scope, questions_of
from detector.model import Message, Target, Verdict
from detector.reasons import reason_in_words
from inference.model import IndexedMessage, stamp_of
from inference.turns.model import PreviousVerdict
from inference.window import neighbourhood

DETECTOR = "implicit"


@dataclass(frozen=True)
class JudgedMessage:
    """A person's message with the messages before it and the verdict on it."""

    message: IndexedMessage
    before: Sequence[IndexedMessage]
    verdict: Verdict

    @cached_property
    def answer(self) -> IndexedMessage | None:
        """The answer that the verdict is about, or None if there is no target."""
        target = self.verdict.target
        return next((row for row in self.before if target and row.message.message_id == target.message_id), None)


def announcement(
    judged: JudgedMessage, version: DetectorVersion, previous: PreviousVerdict | None = None
) -> FeedbackInferredReceived | None:
    """Build the event that announces or retracts the verdict on a person's message.

    A retraction does not contain the message's text, because the text may have been edited. Judging a message again
    with the same detector and evaluation produces the same event.

    Args:
        version: Version of the detector.
        previous: The previous verdict on the message, with the announcement to retract, if any.

    Returns:
        The event, or None if there is nothing to announce and nothing to retract.
    """
    message, verdict, version = _upheld(judged.message, judged.verdict, version, previous)
    if verdict.emitted and verdict.target is not None:
        content = _content(judged, verdict.target)
    elif previous is not None and previous.emitted_turn_id is not None:
        content = _retraction(message.message, previous)
    else:
        return None
    return FeedbackInferredReceived(
        event_id=_event_id(message, version),
        occurred_at=message.message.at,
        **message.conversation._asdict(),
        detected_in_turn_id=message.message.turn_id,
        detected_in_message_id=message.message.message_id,
        user_id=message.message.sender_id,
        user_type=message.user_type or PERSON,
        confidence=verdict.confidence,
        decided_by=verdict.decided_by,
        detector=DETECTOR,
        detector_version=str(version),
        evaluation=message.evaluation,
        **content,
        **(judged.answer.provenance if judged.answer else NO_PROVENANCE).fields(),
    )


def _upheld(
    message: IndexedMessage, verdict: Verdict, version: DetectorVersion, previous: PreviousVerdict | None
) -> tuple[IndexedMessage, Verdict, DetectorVersion]:
    """Return the verdict to publish, with its message and the version of its detector.

    This is normally `verdict` itself. If a stored verdict takes precedence over `verdict` but was not announced, a
    neutral verdict with the stored verdict's stamp is published, to retract any announcement with a lower stamp.
    """
    if previous is None or previous.detector is None or previous.announced:
        return message, verdict, version
    if stamp_of(previous.detector, previous.evaluation) <= stamp_of(version, message.evaluation):
        return message, verdict, version
    neutral = replace(verdict, feedback="neutral", confidence=0.5, target=None, decided_by="rules")
    return replace(message, evaluation=previous.evaluation), neutral, previous.detector


def _event_id(judged: IndexedMessage, version: DetectorVersion) -> str:
    message = judged.message
    sender, source_id = message.sender_id, f"{message.message_id}:{DETECTOR}"
    about = feedback_id(*judged.conversation, source="inference", user_id=sender, agent_id="", source_id=source_id)
    return str(derived_id(INFERRED_RECEIVED.name, str(about), str(version), judged.evaluation))


def _content(judged: JudgedMessage, target: Target) -> dict[str, Any]:
    """Return the fields of an announcement that a retraction does not have."""
    verdict, answer, text = judged.verdict, judged.answer, judged.message.message.text
    return {
        "turn_id": target.turn_id,
        "agent_id": target.agent_id,
        "verdict": verdict.feedback,
        "reaction": verdict.reaction,
        "correction_type": verdict.correction_type,
        "user_said": text[:TEXT_LIMIT],
        "truncated": len(text) >= TEXT_LIMIT,
        "target": InferenceTarget(**{name: getattr(target, name) for name in InferenceTarget.model_fields}),
        "rules": verdict.rules[:20],
        "rule": verdict.rule or None,
        "reasons": reason_in_words(verdict.rules[:20]),
        "question_message_id": _question_of(judged),
        "thread_id": answer.message.thread_id if answer else None,
    }


def _question_of(judged: JudgedMessage) -> str | None:
    """Return the message id of the question behind the judged answer, or None if it is unknown."""
    if judged.answer is None:
        return None
    messages = in_scope(neighbourhood(judged.message, judged.before)).before
    question = questions_of(messages)(messages.index(judged.answer.message))
    return None if question is None else question.message_id


def _retraction(message: Message, previous: PreviousVerdict) -> dict[str, Any]:
    """Return the fields that retract the verdict that was last announced for the message."""
    return {
        "turn_id": previous.emitted_turn_id,
        "agent_id": previous.emitted_agent_id or message.sender_id,
        "verdict": None,
        "reaction": None,
        "user_said": "",
    }
