"""Fields that several events carry, each described once. The description goes into schemas and documents."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from contracts.base import CorrectionType, Id, Label, Sequence64, Text, UserType

ConversationId = Annotated[
    Id, Field(description="The conversation, such as a channel or a chat session; its events stay in order.")
]
TurnId = Annotated[
    Id, Field(description="The turn that the feedback is about: a person's question and the agent's answer to it.")
]
AgentId = Annotated[Id, Field(description="The agent whose answer it is.")]
AgentMessageId = Annotated[Id, Field(description="The agent's message that the feedback is about.")]
QuestionMessageId = Annotated[
    Id | None, Field(description="The person's message that the answer answers; null if that is not known.")
]
AnswerThreadId = Annotated[
    Id | None,
    Field(description="The thread inside the conversation that contains the answer; null outside of threads."),
]
UserId = Annotated[Id, Field(description="The person who gave the feedback.")]
SaidByUserType = Annotated[
    UserType,
    Field(
        description="The platform's own word for that person's role, such as `registered`; `human` if it names none. "
        "Only `agent` has a meaning: the feedback of another agent."
    ),
]
AgentContent = Annotated[
    Text, Field(description="The text of the agent's message, cut at 10,000 characters (see `truncated`).")
]
Truncated = Annotated[bool, Field(description="Whether a copied text was cut at 10,000 characters.")]
OptionalText = Annotated[Text | None, Field(description="What the person said about the answer, in their own words.")]
Reviews = Annotated[
    Id | None,
    Field(
        description="The machine's verdict that a reviewer judges, by its `feedbackId`; the turn's id if the machine "
        "has not judged that turn. Null for feedback that is not a review."
    ),
]
Correction = Annotated[Text | None, Field(description="What the answer should have been, in the person's words.")]
TAGS_LIMIT = 20
"""Tags of one feedback."""
Tags = Annotated[
    tuple[Label, ...],
    Field(max_length=TAGS_LIMIT, description="Short reasons that the person chose, such as `wrong` or `too_long`."),
]
TrackId = Annotated[Id | None, Field(description="The platform's track (a line of work) that the answer belongs to.")]
BundleId = Annotated[Id | None, Field(description="The platform's bundle (the application) that made the answer.")]
AgentVersion = Annotated[Label | None, Field(description="The version of the agent that gave the answer.")]
ModelName = Annotated[Label | None, Field(description="The language model that wrote the answer.")]
TraceId = Annotated[Id | None, Field(description="The trace of the request in which the answer was made.")]
Intent = Annotated[Label | None, Field(description="What the platform took the question for, such as `opening_hours`.")]
Evaluation = Annotated[
    Sequence64,
    Field(
        description="How many versions of the conversation's messages were known when this was judged: of two verdicts "
        "of one detector from one message the one with the higher count wins."
    ),
]
Epoch = Annotated[
    Sequence64,
    Field(
        description="The epoch of the verdict, which an operator raises to judge again: of two verdicts from one "
        "message the one of the later epoch wins, then that of the later detector, then the one with the higher "
        "evaluation."
    ),
]
CorrectionTypeField = Annotated[
    CorrectionType | None,
    Field(description="How the message rejects the answer: outright, by asking again in other words, or by giving up."),
]
