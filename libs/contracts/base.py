"""The vocabulary that every event is made of: ids, scopes, texts and the common envelope."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints
from pydantic.alias_generators import to_camel

from contracts.instants import Instant

CONTENT_LIMIT = 200_000
"""Characters of a chat message's content."""
TEXT_LIMIT = 10_000
"""Characters of a feedback's text or correction, and of a content copied into a derived event."""
RECORD_LIMIT = 1_048_576
"""Bytes of an inbound record's value."""

Id = Annotated[str, StringConstraints(min_length=1, max_length=256, pattern=r"^[^\x00-\x1f\x7f-\x9f]+$")]
"""1 to 256 characters, none of them a control character."""
Scope = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9._-]{1,64}$")]
"""A tenant's or a project's name."""
Content = Annotated[str, StringConstraints(max_length=CONTENT_LIMIT, pattern=r"^[^\x00]*[^\x00\s][^\x00]*$")]
"""A message's text: not blank, no NUL."""
Text = Annotated[str, StringConstraints(max_length=TEXT_LIMIT, pattern=r"^[^\x00]*$")]
"""Free text of a feedback, or a shortened content: no NUL, may be empty."""
Label = Annotated[str, StringConstraints(min_length=1, max_length=128, pattern=r"^[^\x00-\x1f\x7f-\x9f]+$")]
"""A short name: an intent, a tag, a rule."""
Confidence = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Sequence64 = Annotated[int, Field(ge=0, le=2**63 - 1)]

SenderType = Literal["human", "agent"]
UserType = Literal["human", "agent", "anonymous", "registered", "paid", "privileged"]
"""Who a person is to the platform. `agent` marks another agent's feedback."""
Reaction = Literal["ok", "not_ok", "neutral"]
Origin = Literal["user", "machine"]
FeedbackType = Literal["implicit", "reaction", "explicit", "inferred"]
CorrectionType = Literal["explicit", "rephrased", "abandonment"]


class Model(BaseModel):
    """A frozen value, camelCase on the wire; fields it does not know are passed over."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, frozen=True, extra="ignore", strict=True)


class Envelope(Model):
    """What every event carries.

    `event_id` is the producer's unique id; `occurred_at` orders events, and `sequence` those of one instant
    (missing counts as -1).
    """

    event_id: Id
    occurred_at: Instant
    sequence: Sequence64 | None = None
    tenant: Scope
    version: Literal[1] = 1


class Event(Envelope):
    """An event of one project of one tenant."""

    project: Scope
