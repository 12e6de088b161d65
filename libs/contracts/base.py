"""Types that every event is made of: ids, names, texts and the common envelope."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints
from pydantic.alias_generators import to_camel

from contracts.instants import Instant

CONTENT_LIMIT = 200_000
"""Characters of a chat message's content."""
TEXT_LIMIT = 10_000
"""Characters of a feedback's text or correction, and of a content copied into a derived event."""
RECORD_LIMIT = 1_048_576
"""Bytes of an inbound record's value."""

ID_LIMIT = 256
"""Characters of an id."""
ID_PATTERN = r"^[^\x00-\x1f\x7f-\x9f]+$"
Id = Annotated[str, StringConstraints(min_length=1, max_length=ID_LIMIT, pattern=ID_PATTERN)]
"""1 to 256 characters, none of them a control character."""
Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9._-]{1,64}$")]
"""A tenant's or a project's name."""
Text = Annotated[str, StringConstraints(max_length=TEXT_LIMIT, pattern=r"^[^\x00]*$")]
"""Free text of a feedback, or a shortened content: no NUL, may be empty."""
Label = Annotated[str, StringConstraints(min_length=1, max_length=128, pattern=r"^[^\x00-\x1f\x7f-\x9f]+$")]
"""A short name: an intent, a tag, a rule."""
Confidence = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Sequence64 = Annotated[int, Field(ge=0, le=2**63 - 1)]

SenderType = Literal["human", "agent"]
UserType = Label
"""A platform's own word for a person's role. Only `agent` has a meaning: it marks another agent's feedback."""
PERSON: Final = "human"
"""The role of those whose platform names none."""
Reaction = Literal["ok", "not_ok", "neutral"]
Origin = Literal["user", "machine", "reviewer"]
FeedbackType = Literal["implicit", "reaction", "explicit", "inferred"]
CorrectionType = Literal["explicit", "rephrased", "abandonment"]
DecidedBy = Literal["rules", "learned", "llm"]


class Model(BaseModel):
    """A frozen value, camelCase on the wire; fields it does not know are passed over."""

    model_config = ConfigDict(
        alias_generator=to_camel,
        populate_by_name=True,
        frozen=True,
        extra="ignore",
        strict=True,
        use_attribute_docstrings=True,
    )


class Envelope(Model):
    """Fields common to all events."""

    event_id: Id
    """The producer's id of this event. Sending an event again under the same id does no harm."""
    occurred_at: Instant
    """When it happened, RFC 3339 with an offset. Orders the events about one thing, whatever order they arrive in."""
    sequence: Sequence64 | None = None
    """Orders events of one instant, the higher number later; a missing one counts as -1."""
    tenant: Name
    """The customer whose data this is; nothing crosses from one tenant to another."""
    version: Literal[1] = 1
    """The version of the event's schema."""


class Event(Envelope):
    """An event of one project of one tenant."""

    project: Name
    """The project within the tenant."""
