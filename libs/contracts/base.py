"""Base models and field types shared by all events: envelope, ids, names and texts."""

from __future__ import annotations

from typing import Annotated, Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, StringConstraints
from pydantic.alias_generators import to_camel

from contracts.instants import Instant

CONTENT_LIMIT = 200_000
"""Maximum length of a chat message's content, in characters."""
TEXT_LIMIT = 10_000
"""Maximum length of a feedback text or correction, and of content copied into a derived event, in characters."""
RECORD_LIMIT = 1_048_576
"""Maximum size of an inbound record's value, in bytes."""
SHORTEST_EVENT = 64
"""Minimum size of an event in bytes. The names and punctuation of its required fields alone are longer."""

ID_LIMIT = 256
"""Maximum length of an id, in characters."""
ID_PATTERN = r"^[^\x00-\x1f\x7f-\x9f]+$"
Id = Annotated[str, StringConstraints(min_length=1, max_length=ID_LIMIT, pattern=ID_PATTERN)]
"""Id of 1 to 256 characters without control characters."""
Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9._-]{1,64}$")]
"""Name of a tenant or a project."""
Text = Annotated[str, StringConstraints(max_length=TEXT_LIMIT, pattern=r"^[^\x00]*$")]
"""Free text of feedback, or truncated content: at most 10,000 characters, without NUL, possibly empty."""
Label = Annotated[str, StringConstraints(min_length=1, max_length=128, pattern=r"^[^\x00-\x1f\x7f-\x9f]+$")]
"""Short name, such as an intent, a tag or a rule: 1 to 128 characters without control characters."""
Confidence = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Sequence64 = Annotated[int, Field(ge=0, le=2**63 - 1)]

SenderType = Literal["human", "agent", "system"]
"""A person, an agent, or the platform itself, as in "ann joined the channel"."""
UserType = Label
"""A platform's own name for a person's role. Only `agent` has an effect: it marks the feedback of another agent."""
PERSON: Final = "human"
"""Default role of a person."""
Reaction = Literal["ok", "not_ok", "neutral"]
Origin = Literal["user", "machine", "reviewer"]
FeedbackType = Literal["implicit", "reaction", "explicit", "inferred"]
NO_VERDICTS: Final[frozenset[FeedbackType]] = frozenset({"implicit"})
"""Feedback types that are not verdicts: replies."""
CorrectionType = Literal["explicit", "rephrased", "abandonment"]
DecidedBy = Literal["rules", "learned", "llm"]


class Model(BaseModel):
    """Immutable base model with camelCase field names on the wire. Unknown fields are ignored."""

    model_config = ConfigDict(
        alias_generator=to_camel,
        populate_by_name=True,
        frozen=True,
        extra="ignore",
        strict=True,
        use_attribute_docstrings=True,
    )


class Envelope(Model):
    """Fields that all events have in common."""

    event_id: Id
    """The producer's id of this event. An event may be sent again under the same id."""
    occurred_at: Instant
    """The time of the event, RFC 3339 with an offset. It orders events about the same thing, whatever their order of
    arrival."""
    sequence: Sequence64 | None = None
    """Orders events of the same time; the higher number is later. A missing number counts as -1."""
    tenant: Name
    """The customer that owns the data. Tenants' data are separate."""
    version: Literal[1] = 1
    """The version of the event's schema."""

    @classmethod
    def from_wire(cls, value: bytes) -> Self:
        """Parse the JSON of an event. Raises ValueError if the event is not valid.

        Only the wire names of fields are recognised. A snake_case name is ignored, like any unknown field.
        """
        return cls.model_validate_json(value, by_alias=True, by_name=False)


class Event(Envelope):
    """An event that belongs to a project of a tenant."""

    project: Name
    """The project within the tenant."""
