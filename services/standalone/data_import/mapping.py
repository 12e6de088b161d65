"""Mapping of rows from another tool's file to judgements. No I/O."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any, Final
from zoneinfo import ZoneInfo

from pydantic import TypeAdapter, ValidationError

from contracts.base import Name
from contracts.feedback import FeedbackExplicitReceived
from contracts.ids import derived_id
from contracts.instants import parse_instant, parse_loose_instant
from contracts.log_time import future_fault
from servicekit.validation_errors import error_summary
from standalone.data_import.formats import Fact, Giver, ImportFormat
from standalone.data_import.verdicts import MappingInvalid, VerdictRules

Cells = Mapping[str, Any]
"""Values of a row by column name, from a CSV line or a JSON object."""
_REQUIRED: Final = (Fact.conversation, Fact.agent, Fact.time, Fact.verdict)
_PROJECT: Final = TypeAdapter(tuple[Name, Name])
_ORDER: Final[tuple[Giver, ...]] = ("machine", "reviewer", "user")
"""Kinds of authors in order of precedence, for rows whose columns disagree."""


@dataclass(frozen=True, slots=True)
class SkippedRow:
    """A row that is left out on purpose.

    Skipped rows are counted by `reason`, which contains no text from the row.
    """

    reason: str


@dataclass(frozen=True, slots=True)
class RejectedRow:
    """A row that cannot be imported. `reason` contains no text from the row."""

    reason: str


@dataclass(frozen=True)
class ImportMapping:
    """Mapping of rows to judgements in one project.

    Attributes:
        columns: Columns chosen by the user, which override those of `format`.
        constants: Values to use where a row has none.
        name: Name of the scores to import, or None if the scores have no names.
        zone: Time zone of times without an offset.
    """

    tenant: str
    project: str
    format: ImportFormat
    columns: Mapping[Fact, str] = field(default_factory=dict)
    constants: Mapping[Fact, str] = field(default_factory=dict)
    verdicts: VerdictRules = field(default_factory=VerdictRules)
    name: str | None = None
    zone: str | None = None

    def __post_init__(self) -> None:
        """Validate the mapping.

        Raises:
            MappingInvalid: A value is invalid, or a required value has neither a column nor a constant.
        """
        try:
            _PROJECT.validate_python((self.tenant, self.project))
        except ValidationError:
            raise MappingInvalid(
                "--tenant and --project have 1 to 64 letters, digits or the characters . _ -"
            ) from None
        missing = [column for column in _REQUIRED if not self._has(column)]
        if not (self._has(Fact.turn) or self._has(Fact.message)):
            missing.append(Fact.message)
        if not (self._has(Fact.person) or self._has(Fact.reviewer)):
            missing.append(Fact.person)
        if missing:
            options = ", ".join(f"--column {one}=COLUMN" for one in missing)
            raise MappingInvalid(
                f"Not mapped: {', '.join(missing)}. Name the columns ({options}); a constant agent is --agent, "
                "a constant person --person."
            )
        if self.name is None and self._has(Fact.name):
            raise MappingInvalid("The rows have names of scores: name the one to import with --name.")
        if self.name is not None and not self._has(Fact.name):
            raise MappingInvalid("--name needs the column with the names: --column name=COLUMN.")
        try:
            _ = self._local
        except (OSError, LookupError, ValueError):
            raise MappingInvalid(f"There is no time zone {self.zone}: write it like Europe/Berlin or UTC.") from None

    @cached_property
    def _local(self) -> ZoneInfo:
        """The time zone of times without an offset."""
        return ZoneInfo(self.zone or "UTC")

    def names_of(self, column: Fact) -> tuple[str, ...]:
        """Return the columns that may contain a kind of value, in order of preference."""
        own = self.columns.get(column)
        return (own,) if own is not None else self.format.columns.get(column, ())

    def event_of(self, row: Cells, now: int) -> FeedbackExplicitReceived | SkippedRow | RejectedRow:
        """Convert a row to a judgement with the time of the score.

        The event depends only on the row, so importing it again changes nothing. If several rows are versions of the
        same score, the one modified last takes effect.

        Args:
            now: Current time in microseconds. Rows with a later time are rejected.

        Returns:
            The event, or the reason why the row is skipped or rejected.
        """
        if self.name is not None and self._text(row, Fact.name) != self.name:
            return SkippedRow("another score's name")
        giver = self._giver(row)
        if giver is None:
            return RejectedRow("its author is unknown")
        if giver == "machine":
            return SkippedRow("not by a person")
        try:
            return self._event(row, giver, now)
        except ValidationError as error:
            return RejectedRow(error_summary(error.errors()))
        except UnicodeError:
            return RejectedRow("it has characters that are not Unicode text")
        except ValueError as error:
            return RejectedRow(str(error))

    def _event(self, row: Cells, giver: Giver, now: int) -> FeedbackExplicitReceived | SkippedRow | RejectedRow:
        forms = [text for name in self.names_of(Fact.verdict) if (text := text_at(row, name)) is not None]
        if not forms:
            return SkippedRow("no verdict")
        verdict = self.verdicts.of(forms)
        if verdict is None:
            return RejectedRow("its verdict is not mapped, or to two verdicts: add --verdict VALUE=ok, not_ok or skip")
        if verdict == "skip":
            return SkippedRow("a verdict mapped to skip")
        occurred_at = self._time(self._needed(row, Fact.time))
        if future_fault(occurred_at, now) is not None:
            return RejectedRow("its time is in the future")
        modified = self._text(row, Fact.modified)
        message = self._text(row, Fact.message)
        turn = self._text(row, Fact.turn) or message or self._needed(row, Fact.message)
        person = self._needed(row, Fact.person if giver == "user" else Fact.reviewer)
        facts = {
            "conversation_id": self._needed(row, Fact.conversation),
            "turn_id": turn,
            "agent_id": self._needed(row, Fact.agent),
            "agent_message_id": message,
            "user_id": person,
            "reaction": verdict,
            "reviews": turn if giver == "reviewer" else None,
            "text": self._text(row, Fact.text),
            "correction": self._text(row, Fact.correction),
            "agent_version": self._text(row, Fact.agent_version),
            "model": self._text(row, Fact.model),
            "trace_id": self._text(row, Fact.trace),
        }
        id_ = self._text(row, Fact.id)
        said = [id_] if id_ is not None else [str(value) for value in (occurred_at, *facts.values())]
        return FeedbackExplicitReceived(
            event_id=str(derived_id("import", self.tenant, self.project, *said)),
            occurred_at=occurred_at,
            sequence=None if modified is None else self._time(modified),
            tenant=self.tenant,
            project=self.project,
            **facts,  # type: ignore[arg-type] # checked by the model
        )

    def _giver(self, row: Cells) -> Giver | None:
        """Return the kind of author of a row, or None if it is missing or unknown."""
        if not self.format.givers:
            return "reviewer" if self._text(row, Fact.reviewer) and not self._text(row, Fact.person) else "user"
        named = {column: text for column in self.format.givers if (text := text_at(row, column)) is not None}
        found = {self.format.givers[column].get(text) for column, text in named.items()}
        return None if None in found else next((one for one in _ORDER if one in found), None)

    def _has(self, column: Fact) -> bool:
        return bool(self.names_of(column)) or column in self.constants

    def _text(self, row: Cells, column: Fact) -> str | None:
        """Return a row's text for a kind of value, from the first column that contains one.

        If there is no such column, the constant of the mapping is returned, or None.
        """
        found = (text for name in self.names_of(column) if (text := text_at(row, name)) is not None)
        return next(found, None) or self.constants.get(column)

    def _needed(self, row: Cells, column: Fact) -> str:
        text = self._text(row, column)
        if text is None:
            raise ValueError(f"it has no {column}")
        return text

    def _time(self, text: str) -> int:
        """Parse a time to microseconds.

        Raises:
            ValueError: The text is not a date and time, or it lacks an offset and no time zone is known.
        """
        try:
            return parse_loose_instant(text)
        except ValueError:
            if self.zone is None and not self.format.is_utc:
                raise ValueError("its time has no offset: name the time zone with --time-zone") from None
        try:
            local = datetime.fromisoformat(text.strip())
            return parse_instant((local if local.tzinfo else local.replace(tzinfo=self._local)).isoformat())
        except ValueError:
            raise ValueError("its time is not a date and time such as 2026-01-31 12:00:00") from None


def text_at(row: Cells, name: str) -> str | None:
    """Return the value of a column as text, or None if it is missing, blank, a list or an object.

    If there is no column `name`, the name is read as a path into nested objects, such as `feedback_source.type`.
    """
    value: Any = row.get(name)
    if name not in row:
        value = row
        for part in name.split("."):
            value = value.get(part) if isinstance(value, Mapping) else None
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return value if value.strip() else None
        case int():
            return str(value)
        case float() if math.isfinite(value):
            return repr(value)
        case _:
            return None
