"""Record of a session rating. It contains no text."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import Enum
from hashlib import sha256
from typing import Literal, get_args
from uuid import UUID, uuid4

from agent_feedback_kit.answers import Label

Source = Literal["cli_end", "cli_exit", "api_end"]
LABELS: tuple[Label, ...] = get_args(Label)
SOURCES: tuple[Source, ...] = get_args(Source)
SCHEMA_VERSION = 1
DEFAULT_TENANT = "default"
ID_LIMIT = 256
"""Maximum length of a user id and of an idempotency key, in characters."""
TURNS_LIMIT = 2**31 - 1
_OPAQUE = re.compile(r"[0-9a-f]{64}")
_TENANT = re.compile(r"[A-Za-z0-9._-]{1,64}")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


class MemoryMode(Enum):
    """Storage allowed for a session: this machine, several machines, or only the memory of this process."""

    LOCAL = "local"
    SYNCED = "synced"
    INCOGNITO = "incognito"


class InvalidRecord(ValueError):
    """Raised if a field of a session rating is invalid. The message names the field without its value."""

    def __init__(self, name: str) -> None:
        super().__init__(f"{name} is not valid")
        self.name = name


@dataclass(frozen=True, slots=True)
class SessionFeedbackRecord:
    """Rating of a session.

    Attributes:
        session_id_opaque: SHA-256 digest of the thread id, in hexadecimal.
        idempotency_key: Optional key that is unique within a tenant.
        recorded_at: Time in UTC, with six fractional digits and `Z`.

    Raises:
        InvalidRecord: A field is invalid.
    """

    session_id_opaque: str
    label: Label
    turn_count_at_end: int
    source: Source
    user_id_or_null: str | None = None
    idempotency_key: str | None = None
    id: UUID = field(default_factory=uuid4)
    recorded_at: str = field(default_factory=lambda: format_time(datetime.now(UTC)))
    schema_version: int = SCHEMA_VERSION

    def __post_init__(self) -> None:
        checks = {
            "session_id_opaque": _OPAQUE.fullmatch(self.session_id_opaque),
            "label": self.label in LABELS,
            "turn_count_at_end": type(self.turn_count_at_end) is int and 0 <= self.turn_count_at_end <= TURNS_LIMIT,
            "source": self.source in SOURCES,
            "user_id_or_null": self.user_id_or_null is None or _is_id(self.user_id_or_null),
            "idempotency_key": self.idempotency_key is None or _is_id(self.idempotency_key),
            "recorded_at": _is_time(self.recorded_at),
            "schema_version": self.schema_version == SCHEMA_VERSION,
        }
        for name, holds in checks.items():
            if not holds:
                raise InvalidRecord(name)


def opaque(thread_id: str) -> str:
    """Return the hexadecimal SHA-256 digest of a thread id, which identifies a session without revealing the thread."""
    return sha256(thread_id.encode("utf-8", "surrogatepass")).hexdigest()


def format_time(moment: datetime) -> str:
    """Format a time in UTC, with six fractional digits and `Z`, as a string that sorts chronologically."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f") + "Z"


def parse_time(text: str) -> datetime:
    """Parse a time in the format of `format_time`.

    Raises:
        ValueError: The string has a different format.
    """
    return datetime.strptime(text, "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=UTC)


def checked_tenant(tenant: str) -> str:
    """Return a tenant's name unchanged if it is valid.

    Raises:
        InvalidRecord: The name is invalid.
    """
    if not _TENANT.fullmatch(tenant):
        raise InvalidRecord("tenant")
    return tenant


def _is_id(text: str) -> bool:
    return isinstance(text, str) and 0 < len(text) <= ID_LIMIT and not _CONTROL.search(text)


def _is_time(text: str) -> bool:
    try:
        return format_time(parse_time(text)) == text
    except (ValueError, TypeError):
        return False
