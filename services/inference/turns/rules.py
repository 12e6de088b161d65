"""Rules for turns: effective status, satisfaction, ranking of strategies, and the end of a session. No I/O.

Times are in microseconds since 1970. Scores and confidences are from 0 to 1 unless stated otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from contracts.message_fields import TurnKey
from detector.model import CorrectionType, Feedback
from detector.rules import SESSION_TIMEOUT_US

Outcome = Literal["APPROVE", "REVISE", "RETRY", "FAIL"]

UNJUDGED: Final = 0.5
"""Confidence of a turn without feedback."""
QUALITY_WEIGHT: Final = 0.6
STATUS_WEIGHT: Final = 0.4
_WEIGHT: Final[Mapping[Feedback, float]] = {"rejected": -1.0, "accepted": 0.5, "neutral": 0.0}
_BASE: Final[Mapping[str | None, float]] = {"APPROVE": 0.5, "REVISE": 0.3, "RETRY": 0.1, "FAIL": -0.5}
_STATUS_OF: Final[Mapping[str, Feedback]] = {"ok": "accepted", "not_ok": "rejected", "neutral": "neutral"}
_METADATA_NAME: Final[Mapping[CorrectionType, str]] = {
    "explicit": "explicit_correction",
    "rephrased": "rephrased_query",
    "abandonment": "abandonment",
}


@dataclass(frozen=True, slots=True)
class MachineStatus:
    """A turn's status as derived by the detector from a later message.

    `user_said` is the text of that message and `at` its time.
    """

    status: Feedback
    confidence: float
    correction_type: CorrectionType | None
    user_said: str | None
    detected_in_turn_id: str
    at: int | None = None


@dataclass(frozen=True, slots=True)
class UserStatus:
    """The effective reaction to a turn by the last person who reacted: explicit feedback with its tags, or an emoji."""

    status: Feedback
    text: str | None
    tags: tuple[str, ...]
    correction: str | None
    at: int


@dataclass(frozen=True, slots=True)
class Turn:
    """A turn from the index.

    Every field except the key may be None, for example if only feedback on the turn is known. `similarity` is the
    similarity of the turn's question to the searched text, from 0 to 1, or None if no text was searched.
    """

    key: TurnKey
    user_id: str | None = None
    user_text: str | None = None
    agent_id: str | None = None
    agent_message_id: str | None = None
    assistant_text: str | None = None
    at: int | None = None
    intent: str | None = None
    strategy: str | None = None
    validation_outcome: str | None = None
    quality_score: float | None = None
    track_id: str | None = None
    bundle_id: str | None = None
    machine: MachineStatus | None = None
    user: UserStatus | None = None
    similarity: float | None = None

    @property
    def itself(self) -> Turn:
        """The turn, for a response body whose part is about the turn as well."""
        return self

    @property
    def tags(self) -> tuple[str, ...]:
        """The reason tags that the person chose."""
        return self.user.tags if self.user else ()

    @property
    def correction(self) -> str | None:
        """The correct answer, in the person's words."""
        return self.user.correction if self.user else None

    @property
    def judged_by_user(self) -> bool:
        """True if a person's reaction determines the status."""
        return self.user is not None

    @property
    def status(self) -> Feedback:
        """The status of the turn. People's feedback takes precedence over the detector's verdict."""
        if self.user is not None:
            return self.user.status
        return self.machine.status if self.machine else "neutral"

    @property
    def confidence(self) -> float:
        """The confidence of the status, which is 1 if a person gave it."""
        if self.user is not None:
            return 1.0
        return self.machine.confidence if self.machine else UNJUDGED

    @property
    def rejection_detected_in(self) -> str | None:
        """The turn id of the message that rejected this turn.

        None if no message rejected it, or if the turn has another status.
        """
        rejected = self.machine is not None and self.machine.status == "rejected"
        return self.machine.detected_in_turn_id if self.machine and rejected and self.status == "rejected" else None

    @property
    def correction_type(self) -> CorrectionType | None:
        """The correction type of the detector's verdict, or None if that verdict differs from the turn's status."""
        return self.machine.correction_type if self.machine and self.machine.status == self.status else None

    @property
    def user_said(self) -> str | None:
        """The text that explains the status: a person's comment or, without one, the message that the detector judged.

        The judged message is not used if the person's status differs from the detector's.
        """
        if self.user is not None:
            same = self.machine is not None and self.machine.status == self.user.status
            return self.user.text or (self.machine.user_said if self.machine and same else None)
        return self.machine.user_said if self.machine else None

    @property
    def detected_at(self) -> int | None:
        """The time of the feedback that determined the status, in microseconds, or None if there is no feedback."""
        if self.user is not None:
            return self.user.at
        return self.machine.at if self.machine else None

    @property
    def detected_in(self) -> str | None:
        """The turn id of the message from which the detector derived the status.

        None if a person reacted to the turn itself.
        """
        return self.machine.detected_in_turn_id if self.machine and self.user is None else None

    @property
    def satisfaction(self) -> float:
        """The satisfaction with the turn, from -1 to 1; see the function `satisfaction`."""
        return satisfaction(self.validation_outcome, self.status)

    @property
    def ranking_score(self) -> float:
        """The weighted sum of quality and status, from -0.4 to 0.8; see the function `ranking_score`."""
        return ranking_score(self.quality_score, self.status)


def status_of(reaction: str) -> Feedback:
    """Convert a reaction (ok, not_ok or neutral) to a turn status."""
    return _STATUS_OF[reaction]


def metadata_name(kind: CorrectionType | None) -> str | None:
    """Return the name of a correction type in the turn metadata."""
    return _METADATA_NAME[kind] if kind else None


def satisfaction(outcome: str | None, status: Feedback) -> float:
    """Return the satisfaction with a turn, from -1 to 1.

    A rejected turn has -1. Any other turn has the value of its validation outcome, or 0 if the outcome is unknown. An
    acceptance adds 0.5, up to a maximum of 1.
    """
    if status == "rejected":
        return -1.0
    base = _BASE.get(outcome, 0.0)
    return min(1.0, round(base + 0.5, 6)) if status == "accepted" else base


def ranking_score(quality: float | None, status: Feedback) -> float:
    """Return the weighted sum of quality (0 if unknown) and status, from -0.4 to 0.8."""
    return round((quality or 0.0) * QUALITY_WEIGHT + _WEIGHT[status] * STATUS_WEIGHT, 6)


def ranked(turns: Iterable[Turn], limit: int) -> list[Turn]:
    """Return the best `limit` turns to learn from, best first.

    Accepted turns come before neutral ones, and rejected turns are left out. Within each group, turns are sorted by
    quality, then similarity, then recency.
    """
    return sorted((turn for turn in turns if turn.status != "rejected"), key=_rank)[:limit]


def _rank(turn: Turn) -> tuple[bool, float, float, int, TurnKey]:
    quality = turn.quality_score if turn.quality_score is not None else -1.0
    return turn.status != "accepted", -quality, -(turn.similarity or 0.0), -(turn.at or 0), turn.key


def session_over(last_at: int | None, now: int) -> bool:
    """Return True if a conversation has been silent for more than 30 minutes.

    False if `last_at` is None or later than `now`.
    """
    return last_at is not None and now - last_at > SESSION_TIMEOUT_US


def rejections_in_a_row(newest_first: Sequence[Turn], now: int) -> int:
    """Count the consecutive rejected turns at the end of the current session."""
    count, later = 0, now
    for turn in newest_first:
        if turn.status != "rejected" or session_over(turn.at, later):
            break
        count, later = count + 1, turn.at if turn.at is not None else later
    return count
