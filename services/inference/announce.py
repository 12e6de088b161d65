"""Conversion of verdicts to the events that announce or retract them. No I/O.

The announcement threshold is defined in `contracts/detectors.py`.
"""

from __future__ import annotations

from typing import Any

from contracts.base import PERSON, TEXT_LIMIT
from contracts.detectors import DetectorVersion
from contracts.feedback import FeedbackInferredReceived, InferenceTarget
from contracts.ids import derived_id, feedback_id
from contracts.provenance import NO_PROVENANCE
from contracts.topics import INFERRED_RECEIVED
from detector.model import Message, Target, Verdict
from detector.reasons import reason_in_words
from inference.model import IndexedMessage
from inference.turns.model import PreviousVerdict

DETECTOR = "implicit"


def announcement(
    judged: IndexedMessage,
    verdict: Verdict,
    answer: IndexedMessage | None,
    version: DetectorVersion,
    previous: PreviousVerdict | None = None,
    *,
    question_message_id: str | None = None,
) -> FeedbackInferredReceived | None:
    """Build the event that announces or retracts the verdict on a person's message.

    A retraction does not contain the message's text, because the text may have been edited. Judging a message again
    with the same detector and evaluation produces the same event.

    Args:
        answer: The judged answer, or None if there is none.
        version: Version of the detector.
        previous: The previous verdict on the message, with the announcement to retract, if any.
        question_message_id: Message id of the question that the judged answer responds to.

    Returns:
        The event, or None if there is nothing to announce and nothing to retract.
    """
    target = verdict.target if verdict.emitted else None
    if target is not None:
        content = _content(judged.message, verdict, target)
    elif previous is not None and previous.emitted_turn_id is not None:
        content = _retraction(judged.message, previous)
    else:
        return None
    if target is not None and answer is not None:
        content |= {"question_message_id": question_message_id, "thread_id": answer.message.thread_id}
    where, message = judged.conversation, judged.message
    return FeedbackInferredReceived(
        event_id=_event_id(judged, version),
        occurred_at=message.at,
        **where._asdict(),
        detected_in_turn_id=message.turn_id,
        detected_in_message_id=message.message_id,
        user_id=message.sender_id,
        user_type=judged.user_type or PERSON,
        confidence=verdict.confidence,
        decided_by=verdict.decided_by,
        detector=DETECTOR,
        detector_version=str(version),
        evaluation=judged.evaluation,
        **content,
        **(answer.provenance if answer else NO_PROVENANCE).fields(),
    )


def _event_id(judged: IndexedMessage, version: DetectorVersion) -> str:
    message = judged.message
    sender, source_id = message.sender_id, f"{message.message_id}:{DETECTOR}"
    about = feedback_id(*judged.conversation, source="inference", user_id=sender, agent_id="", source_id=source_id)
    return str(derived_id(INFERRED_RECEIVED.name, str(about), str(version), judged.evaluation))


def _content(message: Message, verdict: Verdict, target: Target) -> dict[str, Any]:
    """Return the fields of an announcement that a retraction does not have."""
    return {
        "turn_id": target.turn_id,
        "agent_id": target.agent_id,
        "verdict": verdict.feedback,
        "reaction": verdict.reaction,
        "correction_type": verdict.correction_type,
        "user_said": message.text[:TEXT_LIMIT],
        "truncated": len(message.text) >= TEXT_LIMIT,
        "target": InferenceTarget(**{name: getattr(target, name) for name in InferenceTarget.model_fields}),
        "rules": verdict.rules[:20],
        "rule": verdict.rule or None,
        "reasons": reason_in_words(verdict.rules[:20]),
    }


def _retraction(message: Message, previous: PreviousVerdict) -> dict[str, Any]:
    """Return the fields that retract the verdict that was last announced for the message."""
    return {
        "turn_id": previous.emitted_turn_id,
        "agent_id": previous.emitted_agent_id or message.sender_id,
        "verdict": None,
        "reaction": None,
        "user_said": "",
    }
