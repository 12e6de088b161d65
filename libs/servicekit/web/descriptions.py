"""Descriptions of the fields in requests and responses, one for all routes that have the field.

A description in a model goes before these. `Model.name` goes before `name`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

MEANINGS: Final[Mapping[str, str]] = {
    # where something is
    "tenant": "The customer whose data this is.",
    "project": "The project within the tenant.",
    "conversation_id": "The conversation, also called thread.",
    "turn_id": "The turn: a person's question and the agent's answer to it.",
    "thread_id": "The session's thread, which is the conversation's id.",
    "message_id": "The message.",
    "request_id": "The request, as it was named when it was accepted.",
    "agent_message_id": "The agent's message in that turn.",
    "agent_id": "The agent.",
    "agent_version": "The version of the agent.",
    "user_id": "The person.",
    "feedback_id": "The feedback. The same facts give the same id again.",
    "track_id": "The platform's track that the answer belongs to.",
    "bundle_id": "The platform's bundle that made the answer.",
    "rn": "The feedback's resource name.",
    # a feedback
    "reaction": "What the person thinks of the answer: ok, not_ok or neutral.",
    "feedback_type": "implicit, reaction, explicit or inferred.",
    "origin": "user: given on purpose. machine: read out of what a person wrote.",
    "confidence": "How sure it is that the person meant it, 0 to 1.",
    "text": "What the person wrote.",
    "tags": "Short reasons that the person chose.",
    "correction": "What the answer should have been, in the person's words.",
    "emoji": "The emoji, where the feedback is one.",
    "ts": "When it was said, RFC 3339.",
    "recorded_at": "When the feedback last changed.",
    "user_type": "Who the person is to the platform.",
    # a turn
    "intent": "What the platform took the question for.",
    "strategy": "How the agent went about the answer.",
    "validation_outcome": "How the platform's own check of the answer ended.",
    "quality_score": "The platform's own score of the answer, 0 to 1.",
    "user_feedback_status": "What is made of the answer: rejected, accepted or neutral.",
    "feedback_confidence": "How sure that is, 0 to 1.",
    "satisfaction": "The share of ok among all reactions, 0 to 1.",
    "ranking_score": "Quality and feedback in one number, -0.4 to 0.8: quality_score * 0.6 + weight * 0.4.",
    "correction_type": "How the person rejected the answer: explicitly, by asking again, or by giving up.",
    "user_said": "The message that says so.",
    # counts
    "total": "All reactions.",
    "user": "Reactions given on purpose.",
    "machine": "Reactions read out of messages.",
    "ok": "How many say ok.",
    "not_ok": "How many say not ok.",
    "neutral": "How many say neither.",
    # questions and pages of answers
    "items": "What was found.",
    "turns": "The turns.",
    "feedbacks": "The effective reactions.",
    "window": "The time that the answer is about.",
    "start": "From this time on, RFC 3339.",
    "end": "Up to this time, RFC 3339.",
    "bucket": "The length of one step in time.",
    "min_votes": "Agents with fewer reactions are not ranked.",
    "pairs": "Turns with both a machine's and a person's verdict.",
    "agreeing": "Pairs where both say the same.",
    "detail": "Why, in one sentence.",
    # names that mean something else in one place
    "AgentText.ts": "When the last message of the answer was written.",
    "AgentText.text": "What the agent answered.",
    "UserText.ts": "When the last message of the question was written.",
    "Artifact.id": "The artifact's resource name.",
    "Artifact.role": "artifact, for all of them.",
    "Artifact.ts": "When it was said, or when the turn was.",
    "Artifact.tags": "What it is: its kind, turn, origin and track.",
    "Artifact.text": "The reaction or the turn's log, as JSON.",
    "Artifact.hosted_uri": "Where the object store has its payload; null where it has none, or not yet.",
    "Artifact.payload": "The whole of it, where asked for.",
    "ArtifactsBody.kinds": "Kinds to find; null finds all.",
    "ArtifactsBody.roles": "Roles to find; null finds all.",
    "ArtifactsBody.scope": "Whether to look in one conversation or at one person.",
    "ArtifactsBody.conversation_id": "The conversation to look in.",
    "ArtifactsBody.user_id": "The person to look at.",
    "ArtifactsBody.all_tags": "Tags that must all be there.",
    "ArtifactsBody.timestamp_filters": "Bounds on the time; all must hold.",
    "ArtifactsBody.with_payload": "Whether to give the whole of each.",
    "MomentFilter.op": "How the time is compared.",
    "MomentFilter.value": "The time to compare with, RFC 3339.",
    "Bin.low": "The bin's lowest confidence.",
    "Bin.high": "The bin's highest confidence.",
    "Bin.agreement": "The share of agreeing pairs.",
    "Bin.mean_confidence": "The mean of the machine's confidence.",
    "BucketFigures.start": "When the step begins.",
    "Calibration.confusion": "Pairs by what the machine and the person say.",
    "Calibration.bins": "Pairs by the machine's confidence.",
    "NamedFigures.name": "What the figures are of.",
    "OwnFeedback.reaction": "What the person thinks of the answer; null where they say nothing.",
    "PeriodItem.feedback_counts": "Reactions in the window.",
    "PeriodTurn.ts": "When the newest reaction in the window was given.",
    "RankedAgent.low": "The lower bound of the satisfaction, at 95 %.",
    "RankedAgent.high": "The upper bound of the satisfaction, at 95 %.",
    "RankedAgent.enough": "Whether there are enough reactions to rank it.",
    "Ranking.agents": "The agents, best first.",
    "ReactionItem.reaction": "The reaction itself.",
    "ReactionItem.meta": "What it belongs to.",
    "ReactionMeta.kind": "The artifact's kind.",
    "Summary.totals": "All of the window together.",
    "Summary.buckets": "Step by step in time.",
    "Summary.by_agent": "By agent.",
    "Summary.by_agent_version": "By agent and version.",
    "Summary.by_origin": "By who gave the reaction.",
    "TurnLog.ts": "When the turn's last message was written.",
    "TurnLog.messages": "Messages of the turn.",
    "LatestItem.turn_ts": "When the turn's last message was written.",
    "LatestItem.reaction": "What the person thinks of the answer; null where they took it back.",
    "TurnWithFeedbacks.user": "The person's question.",
    "TurnWithFeedbacks.assistant": "The agent's answer.",
    "TurnWithFeedbacks.reactions": "The same reactions in the form of artifacts.",
    "TurnWithFeedbacks.turn_log": "How the answer was made.",
    "TurnsWithFeedbacks.user_id": "The person who began the conversation.",
}


def described(document: dict[str, Any]) -> dict[str, Any]:
    """The OpenAPI document with a description for every property and parameter, and with sentences for summaries."""
    for model, schema in document.get("components", {}).get("schemas", {}).items():
        _describe(model, schema)
    for operations in document["paths"].values():
        for operation in operations.values():
            first, _, rest = operation.get("description", "").partition("\n")
            if first:
                operation["summary"], operation["description"] = first.rstrip(".").replace("`", ""), rest.strip()
            for answer in operation["responses"].values():
                if answer.get("description") == "Successful Response":  # FastAPI's own words
                    answer["description"] = "Answered."
            for parameter in operation.get("parameters", ()):
                if parameter["name"] in MEANINGS:
                    parameter.setdefault("description", MEANINGS[parameter["name"]])
    return document


def _describe(model: str, schema: dict[str, Any]) -> None:
    for name, field in schema.get("properties", {}).items():
        if "description" not in field and (meaning := MEANINGS.get(f"{model}.{name}", MEANINGS.get(name))):
            field["description"] = meaning
