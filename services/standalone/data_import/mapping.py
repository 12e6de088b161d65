"""Mapping of rows from another tool's file to judgements. No I/O."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from functools import cached_property
from typing import Any, Final
from zoneinfo import ZoneInfo

from pydantic import TypeAdapter, ValidationError

from contracts.base import Name
from contracts.feedback import FeedbackExplicitReceived
from contracts.ids import derived_id
from contracts.instants import LAST, SECOND, parse_instant, parse_loose_instant
from contracts.log_time import future_fault
from servicekit.errors import error_summary
from standalone.data_import.formats import Fact, Giver, ImportFormat, TimeUnit
from standalone.data_import.verdicts import MappingInvalid, VerdictRules

Cells = Mapping[str, Any]
"""Values of a row by column name, from a CSV line or a JSON object."""
_REQUIRED: Final = (Fact.conversation, Fact.agent, Fact.time, Fact.verdict)
_PROJECT: Final = TypeAdapter(tuple[Name, Name])
_NUMBER: Final = re.compile(r"\d{1,18}(?:\.\d{0,18})?", re.ASCII)
_MICROSECONDS: Final[Mapping[TimeUnit, int]] = {"seconds": SECOND, "milliseconds": SECOND // 1_000}
_ORDER: Final[tuple[Giver, ...]] = ("machine", "reviewer", "user")
"""Kinds of authors in order of precedence, for rows whose columns disagree."""


@dataclass(frozen=True, slots=True)
class SkippedRow:
    """A row that is left out on purpose.

    Skipped rows are counted by `reason`, which contains no text from the row.

    Attributes:
        value: The score's value, if the row is skipped because of this value.
    """

    reason: str
    value: str | None = None


@dataclass(frozen=True, slots=True)
class RejectedRow:
    """A row that cannot be imported. `reason` contains no text from the row.

    Attributes:
        value: The score's value, if no verdict is mapped to it.
    """

    reason: str
    value: str | None = None


@dataclass(frozen=True)
class ImportMapping:
    """Mapping of rows to judgements in one project.

    Attributes:
        columns: Columns chosen by the user, which override those of `format`.
        constants: Values to use where a row has none.
        name: Name of the scores to import, or None if the scores have no names.
        zone: Time zone of times without an offset.
        time_unit: Unit of times that are numbers; default: the unit of `format`.
    """

    tenant: str
    project: str
    format: ImportFormat
    columns: Mapping[Fact, str] = field(default_factory=dict)
    constants: Mapping[Fact, str] = field(default_factory=dict)
    verdicts: VerdictRules = field(default_factory=VerdictRules)
    name: str | None = None
    zone: str | None = None
    time_unit: TimeUnit | None = None

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
            options = ", ".join(f"--column {fact}=COLUMN" for fact in missing)
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
        value = self.value_of(row)
        if value is None:
            column = self.columns.get(Fact.verdict)
            return SkippedRow(f"no verdict in {column}" if column else "no verdict")
        verdict = self.verdicts.of(value)
        if verdict is None:
            return RejectedRow("its value is not mapped: add --verdict VALUE=ok, not_ok, neutral or skip", value)
        if verdict == "skip":
            return SkippedRow("a verdict mapped to skip", value)
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
        identity = [id_] if id_ is not None else [str(value) for value in (occurred_at, *facts.values())]
        return FeedbackExplicitReceived(
            event_id=str(derived_id("import", self.tenant, self.project, *identity)),
            occurred_at=occurred_at,
            sequence=None if modified is None else self._time(modified),
            tenant=self.tenant,
            project=self.project,
            **facts,  # type: ignore[arg-type] # checked by the model
        )

    def value_of(self, row: Cells) -> str | None:
        """Return a score's value: the first column with a value, among the columns of the score's type.

        The other columns never matter: a label that no rule covers must not get the verdict of a number that some tools
        write next to every label.

        Raises:
            ValueError: The type is unknown, or the value is neither a text nor a number.
        """
        types = (text for name in self.format.type_columns if (text := text_at(row, name)) is not None)
        names = self.names_of(Fact.verdict)
        if Fact.verdict not in self.columns and (score_type := next(types, None)) is not None:
            if score_type not in self.format.verdict_columns:
                raise ValueError("its score has an unknown type")
            names = self.format.verdict_columns[score_type]
        values = (value for name in names if not _is_blank(value := _value_at(row, name)))
        value = next(values, None)
        text = _text_of(value)
        if value is not None and text is None:
            raise ValueError("its value is neither a text nor a number")
        return text

    def _giver(self, row: Cells) -> Giver | None:
        """Return the kind of author of a row, or None if it is missing or unknown."""
        if not self.format.givers:
            return "reviewer" if self._text(row, Fact.reviewer) and not self._text(row, Fact.person) else "user"
        named = {column: text for column in self.format.givers if (text := text_at(row, column)) is not None}
        givers = {self.format.givers[column].get(text) for column, text in named.items()}
        return None if None in givers else next((giver for giver in _ORDER if giver in givers), None)

    def _has(self, column: Fact) -> bool:
        return bool(self.names_of(column)) or column in self.constants

    def _text(self, row: Cells, column: Fact) -> str | None:
        """Return a row's text for a kind of value, from the first column that contains one.

        If there is no such column, the constant of the mapping is returned, or None.
        """
        texts = (text for name in self.names_of(column) if (text := text_at(row, name)) is not None)
        return next(texts, None) or self.constants.get(column)

    def _needed(self, row: Cells, column: Fact) -> str:
        text = self._text(row, column)
        if text is None:
            raise ValueError(f"it has no {column}")
        return text

    def _time(self, text: str) -> int:
        """Parse a time to microseconds.

        Raises:
            ValueError: The text is not a time, or it lacks a unit or an offset and neither is known.
        """
        if _NUMBER.fullmatch(number := text.strip()):
            unit = self.time_unit or self.format.time_unit
            if unit is None:
                raise ValueError("its time is a number: name the unit with --time-unit seconds or milliseconds")
            moment = int(Decimal(number) * _MICROSECONDS[unit])
            if moment > LAST:
                raise ValueError("its time is after the year 9999: check --time-unit")
            return moment
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
    return _text_of(_value_at(row, name))


def _value_at(row: Cells, name: str) -> Any:
    if name in row:
        return row[name]
    value: Any = row
    for part in name.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    return value


def _is_blank(value: Any) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())


def _text_of(value: Any) -> str | None:
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
