"""Field types shared by several events, with descriptions for the generated schemas and documents."""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import Field, StringConstraints

from contracts.base import CorrectionType, Id, Label, Sequence64, Text, UserType

ConversationId = Annotated[
    Id, Field(description="The conversation, such as a channel or a chat session; its events stay in order.")
]
TurnId = Annotated[
    Id, Field(description="The turn that the feedback is about: a person's question and the agent's answer to it.")
]
AgentId = Annotated[Id, Field(description="The agent that gave the answer.")]
AgentMessageId = Annotated[Id, Field(description="The agent's message that the feedback is about.")]
QuestionMessageId = Annotated[
    Id | None,
    Field(
        description="The person's message that was answered, as known when the event was written; null if it was not "
        "known."
    ),
]
AnswerThreadId = Annotated[
    Id | None,
    Field(description="The thread inside the conversation that contains the answer; null outside of threads."),
]
UserId = Annotated[Id, Field(description="The person who gave the feedback.")]
SaidByUserType = Annotated[
    UserType,
    Field(
        description="The platform's own name for that person's role, such as `registered`; `human` by default. "
        "Only `agent` has a meaning: it marks the feedback of another agent."
    ),
]
AgentContent = Annotated[
    Text, Field(description="The text of the agent's message, truncated to 10,000 characters (see `truncated`).")
]
Truncated = Annotated[bool, Field(description="True if a copied text was truncated to 10,000 characters.")]
OptionalText = Annotated[Text | None, Field(description="The person's comment on the answer.")]
Reviews = Annotated[
    Id | None,
    Field(
        description="For a review: the `feedbackId` of the reviewed machine verdict, or the turn's id if the machine "
        "has not judged the turn. Null for other feedback. A reviewer has one review per turn; the newest review of a "
        "turn counts."
    ),
]
Correction = Annotated[Text | None, Field(description="The answer that the person wanted instead.")]
MOST_POINTS: Final = 100
"""Highest rating, which is also the highest number of points of a scale."""
_Points = Annotated[int, Field(ge=0, le=MOST_POINTS)]
Rating = Annotated[_Points | None, Field(description="The rating as the person gave it; null for other feedback.")]
WorstRating = Annotated[_Points | None, Field(description="For a rating: the worst one of its scale.")]
BestRating = Annotated[
    _Points | None, Field(description="For a rating: the best one of its scale, above or below the worst.")
]
TAGS_LIMIT = 20
"""Maximum number of tags of a feedback record."""
Tags = Annotated[
    tuple[Label, ...],
    Field(max_length=TAGS_LIMIT, description="Short reasons that the person chose, such as `wrong` or `too_long`."),
]
TrackId = Annotated[Id | None, Field(description="The platform's track (a line of work) that the answer belongs to.")]
BundleId = Annotated[Id | None, Field(description="The platform's bundle (the application) that produced the answer.")]
AgentVersion = Annotated[Label | None, Field(description="The version of the agent that gave the answer.")]
ModelName = Annotated[Label | None, Field(description="The language model that wrote the answer.")]
TraceId = Annotated[Id | None, Field(description="The trace of the request that produced the answer.")]
Attribute = Annotated[str, StringConstraints(max_length=256, pattern=r"^[^\x00]*$")]
Attributes = Annotated[
    Annotated[dict[Label, Attribute], Field(max_length=20)] | None,
    Field(
        description="Up to 20 further attributes of the answer by name, such as `language` or an experiment's `arm`. "
        "Reports compare answers by those that REPORTING_ATTRIBUTES names.",
    ),
]
Strategy = Annotated[Label | None, Field(description="The agent's strategy for the answer, such as `lookup`.")]
Intent = Annotated[Label | None, Field(description="The intent that the platform recognised, such as `opening_hours`.")]
Evaluation = Annotated[
    Sequence64,
    Field(
        description="The number of message versions of the conversation that were known to the detector. Of two "
        "verdicts of one detector on one message, the one with the higher number counts."
    ),
]
CorrectionTypeField = Annotated[
    CorrectionType | None,
    Field(description="The kind of rejection: in plain words, by rephrasing the request, or by giving up."),
]
