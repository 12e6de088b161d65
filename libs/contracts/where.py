"""Response models of the routes behind `agent-feedback where`, the command that locates events and messages. No I/O."""

from __future__ import annotations

from typing import Final

from pydantic import BaseModel, Field

WHERE: Final = "/conversations/{tenant}/{project}/where/"
"""Path prefix of the routes. The last segment is `chat`, `feedback`, `inference` or `reports`, one for each service."""
FOUND_LIMIT: Final = 200
"""Maximum number of records in a response, and of ids in one query parameter."""


class CountedIn(BaseModel):
    """The report figures that count a feedback record, and the hour in which it is counted."""

    figures: list[str] = Field(
        description="`summary` and `agents`; `reasons` if the record has a tag or a correction type; `calibration` if "
        "it is a machine's verdict, overruled or not, or a person's verdict on a turn that the machine has judged. A "
        "reply counts only in `summary`, as `replies`.",
        examples=[["summary", "agents", "calibration"]],
    )
    hour: str = Field(description="Start of the hour in which it is counted, RFC 3339.")
    rolled_up: bool = Field(
        description="True if the stored counts of that hour are current; otherwise the figures read the records "
        "themselves until the hour is recounted. Replies have no stored counts."
    )


class FeedbackState(BaseModel):
    """The state of a feedback record in the service that responds."""

    feedback_id: str = Field(description="The feedback record.", examples=["c1d0e2f3-2222-5a3b-8c4d-5e6f7a8b9c0d"])
    revision: int = Field(description="Revision of the record in this service.", examples=[1772357400000])
    state: str = Field(
        description="In the feedback service `live`, `cleared`, `overruled` (by a review) or `erased`; in reporting"
        " `counted`, `superseded` (a newer verdict of the same person, or a newer review, counts instead), `listed` (a"
        " reply), `overruled` or `cleared`.",
        examples=["live"],
    )
    announced_as: str | None = Field(
        default=None, description="The `eventId` of that revision on `feedback.created`; null in reporting."
    )
    counted_in: CountedIn | None = Field(
        default=None, description="In reporting: the figures that count the record; null if none does."
    )


class JudgedMessage(BaseModel):
    """A message indexed by the inference service, and the detector's current verdict on it."""

    message_id: str = Field(description="The message.")
    conversation_id: str = Field(description="Conversation of the message.")
    role: str = Field(description="`human` or `agent`; an agent's message has no verdict.")
    verdict: str | None = Field(default=None, description="`rejected`, `accepted` or `neutral`; null if not judged.")
    confidence: float | None = Field(default=None, description="Confidence of the verdict, 0 to 1.")
    turn_id: str | None = Field(default=None, description="The turn whose status it sets, if any.")
    decided_by: str | None = Field(default=None, description="`rules`, `learned` or `llm`.")
    detector: str | None = Field(default=None, description="The detector's version.")
    epoch: int | None = Field(default=None, description="The epoch of the judgement.")
    announced: bool = Field(
        default=False, description="True if the verdict is announced on `feedback.inferred.received`."
    )
    held_back: str | None = Field(
        default=None,
        description="Reason why the verdict is not announced: `machine_text` (a client program wrote the message), "
        "`language` (the detector does not read its language), `no_feedback` (it judges no answer), `no_answer` (the "
        "answer that it is about was not found), `topic_change` or `follow_up` (it accepts the answer silently), "
        "`below_threshold` (the confidence is below 0.70), `below_target` (verdicts of its kind are right less often "
        "than `INFERENCE_TARGET_PRECISION`).",
    )
    noted_at: str = Field(description="Time of the verdict, RFC 3339; without a verdict, time of the message.")


class JournalRecord(BaseModel):
    """The outcome of processing a log record in a consumer group."""

    at: str = Field(description="Coordinates of the record.", examples=["chat.message.ingested:3:17"])
    cause: str = Field(description="Coordinates of the chat record that it derives from; for a chat record, its own.")
    event_id: str = Field(description="`eventId` of the record; empty if it could not be read.")
    conversation_id: str | None = Field(description="Conversation of the record.")
    message_id: str | None = Field(description="The message that the record contains or is about.")
    feedback_id: str | None = Field(description="The feedback record that the record changes, if any.")
    outcome: str = Field(description="`stored`, `unchanged`, `ignored`, `parked` or `dead_lettered`.")
    reason: str = Field(description="The rule by which it was ignored, parked or dead-lettered; else empty.")
    detail: str = Field(description="For a dead letter: the invalid field and the violated rule, without the value.")
    noted_at: str = Field(description="Time of the outcome, RFC 3339.")


class WhereFound(BaseModel):
    """Everything that a service knows about an event or a message, except for its content."""

    records: list[JournalRecord] = Field(description=f"The latest first, at most {FOUND_LIMIT}.")
    feedbacks: list[FeedbackState] = Field(
        description="The requested feedback records, and those that the found records change."
    )
    judged: list[JudgedMessage] = Field(default=[], description="In inference: the requested messages.")
