"""Conversion of verdicts to the events that announce or retract them. No I/O.

The announcement threshold is defined in `contracts/detectors.py`.
"""

from __future__ import annotations

from dataclasses import replace

from contracts.base import PERSON, TEXT_LIMIT
from contracts.detectors import DetectorVersion
from contracts.feedback import FeedbackInferredReceived, InferenceTarget
from contracts.ids import derived_id, feedback_id
from contracts.provenance import NO_PROVENANCE
from contracts.topics import INFERRED_RECEIVED
from detector.model import Target, Verdict
from detector.reasons import reason_in_words
from inference.store import IndexedMessage, Placed

DETECTOR = "implicit"


def announcement(
    placed: Placed,
    verdict: Verdict,
    answer: IndexedMessage | None,
    version: DetectorVersion,
    *,
    question_message_id: str | None = None,
) -> FeedbackInferredReceived | None:
    """Build the event that announces or retracts the verdict on a person's message.

    A retraction does not contain the message's text, because the text may have been edited. The event id is derived
    from the feedback id, the detector version and the evaluation, so judging a message again produces the
    same event.

    Args:
        answer: The judged answer, or None if there is none.
        version: Version of the detector.
        question_message_id: Message id of the question that the judged answer responds to.

    Returns:
        The event, or None if there is nothing to announce and nothing to retract.
    """
    target = verdict.target if verdict.emitted else None
    if target is None and placed.emitted_turn_id is None:
        return None
    indexed = placed.indexed
    where, message = indexed.conversation, indexed.message
    about = feedback_id(
        *where, source="inference", user_id=message.sender_id, agent_id="", source_id=f"{message.message_id}:{DETECTOR}"
    )
    return FeedbackInferredReceived(
        event_id=str(derived_id(INFERRED_RECEIVED.name, str(about), str(version), placed.evaluation)),
        occurred_at=message.at,
        tenant=where.tenant,
        project=where.project,
        conversation_id=where.conversation_id,
        turn_id=target.turn_id if target else placed.emitted_turn_id or message.turn_id,
        agent_id=target.agent_id if target else placed.emitted_agent_id or message.sender_id,
        detected_in_turn_id=message.turn_id,
        detected_in_message_id=message.message_id,
        user_id=message.sender_id,
        user_type=indexed.user_type or PERSON,
        verdict=None if target is None else "rejected" if verdict.feedback == "rejected" else "accepted",
        reaction=None if target is None else verdict.reaction,
        correction_type=verdict.correction_type if target else None,
        confidence=verdict.confidence,
        user_said=message.text[:TEXT_LIMIT] if target else "",
        truncated=target is not None and len(message.text) >= TEXT_LIMIT,
        target=_target(target),
        rules=verdict.rules[:20] if target else (),
        rule=verdict.rule or None if target else None,
        reasons=reason_in_words(verdict.rules[:20]) if target else (),
        decided_by=verdict.decided_by,
        detector=DETECTOR,
        detector_version=str(version),
        evaluation=placed.evaluation,
        question_message_id=question_message_id if target else None,
        thread_id=answer.message.thread_id if target and answer else None,
        **(answer.provenance if answer else NO_PROVENANCE).fields(),
    )


def silent(verdict: Verdict) -> Verdict:
    """Return a neutral copy of the verdict that has no target and is therefore not announced."""
    return replace(verdict, feedback="neutral", reaction=None, confidence=0.5, target=None, decided_by="rules", rule="")


def _target(target: Target | None) -> InferenceTarget | None:
    if target is None:
        return None
    return InferenceTarget(
        message_id=target.message_id,
        score=target.score,
        similarity=target.similarity,
        recency=target.recency,
        turns_back=target.turns_back,
        rule=target.rule,
    )
