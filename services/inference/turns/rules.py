"""Rules for turns: visible status, satisfaction, ranking of strategies, and end of a session.

Pure. Times are microseconds since the epoch. Scores and confidences are in [0, 1] unless stated otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

from detector.model import CorrectionType, Feedback
from detector.vocabulary import SESSION_TIMEOUT_US

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


class TurnKey(NamedTuple):
    tenant: str
    project: str
    conversation_id: str
    turn_id: str


@dataclass(frozen=True, slots=True)
class MachineStatus:
    """Status that a later message gives to a turn. `user_said` is the text of that message, `at` its time."""

    status: Feedback
    confidence: float
    correction_type: CorrectionType | None
    user_said: str | None
    detected_in_turn_id: str
    detected_in_message_id: str
    decided_by: str
    at: int | None = None


@dataclass(frozen=True, slots=True)
class UserStatus:
    """Effective reaction of the person who reacted last: explicit feedback with its tags, or an emoji."""

    status: Feedback
    said: str | None
    tags: tuple[str, ...]
    correction: str | None
    at: int


@dataclass(frozen=True, slots=True)
class Turn:
    """Turn as it is stored in the index. If only feedback on it is known, every field except the key may be None.

    `similarity` in [0, 1] is that of its question and the searched text; None if no text was searched.
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
    def status(self) -> Feedback:
        """Status given by people, otherwise by the machine."""
        if self.user is not None:
            return self.user.status
        return self.machine.status if self.machine else "neutral"

    @property
    def confidence(self) -> float:
        """Confidence of the status, in [0, 1]; 1 if it was given by a person."""
        if self.user is not None:
            return 1.0
        return self.machine.confidence if self.machine else UNJUDGED

    @property
    def rejection_detected_in(self) -> str | None:
        """Turn id of the message that rejected this turn; None if none did, or if a person's reaction disagrees."""
        rejected = self.machine is not None and self.machine.status == "rejected"
        return self.machine.detected_in_turn_id if self.machine and rejected and self.status == "rejected" else None

    @property
    def correction_type(self) -> CorrectionType | None:
        """Correction type of the machine's verdict; None if the turn has another status."""
        return self.machine.correction_type if self.machine and self.machine.status == self.status else None

    @property
    def user_said(self) -> str | None:
        """Text behind the status: the comment of the person who reacted, otherwise the message that the machine judged.

        The judged message is used only if the machine's status is the turn's status.
        """
        if self.user is not None:
            same = self.machine is not None and self.machine.status == self.user.status
            return self.user.said or (self.machine.user_said if self.machine and same else None)
        return self.machine.user_said if self.machine else None

    @property
    def detected_at(self) -> int | None:
        """Time of the feedback behind the status, in microseconds; None without feedback."""
        if self.user is not None:
            return self.user.at
        return self.machine.at if self.machine else None

    @property
    def detected_in(self) -> str | None:
        """Turn id of the message that gave the status; None if a person reacted to the turn itself."""
        return self.machine.detected_in_turn_id if self.machine and self.user is None else None

    @property
    def satisfaction(self) -> float:
        """Satisfaction with the turn, in [-1, 1]; see the function `satisfaction`."""
        return satisfaction(self.validation_outcome, self.status)

    @property
    def ranking_score(self) -> float:
        """Weighted sum of quality and status, in [-0.4, 0.8]; see the function `ranking_score`."""
        return ranking_score(self.quality_score, self.status)


def status_of(reaction: str) -> Feedback:
    """Return the turn's status for a person's reaction: ok, not_ok or neutral."""
    return _STATUS_OF[reaction]


def metadata_name(kind: CorrectionType | None) -> str | None:
    """Return the name of a correction type in turn metadata."""
    return _METADATA_NAME[kind] if kind else None


def satisfaction(outcome: str | None, status: Feedback) -> float:
    """Return the satisfaction with a turn, in [-1, 1].

    It is -1 for a rejected turn. Otherwise it is the value of the outcome (0 if unknown), plus 0.5 for an accepted
    turn.
    """
    if status == "rejected":
        return -1.0
    base = _BASE.get(outcome, 0.0)
    return min(1.0, round(base + 0.5, 6)) if status == "accepted" else base


def ranking_score(quality: float | None, status: Feedback) -> float:
    """Return the weighted sum of quality (0 if unknown) and status, in [-0.4, 0.8]."""
    return round((quality or 0.0) * QUALITY_WEIGHT + _WEIGHT[status] * STATUS_WEIGHT, 6)


def ranked(turns: Iterable[Turn], limit: int) -> list[Turn]:
    """Return at most `limit` turns to learn from, best first. Rejected turns are left out.

    Accepted turns come before neutral ones. Within each group, turns are sorted by quality, similarity and recency.
    """
    found = [one for one in turns if one.status != "rejected"]
    found.sort(
        key=lambda one: (
            one.status != "accepted",
            -(one.quality_score if one.quality_score is not None else -1.0),
            -(one.similarity or 0.0),
            -(one.at or 0),
            one.key,
        )
    )
    return found[:limit]


def session_over(last_at: int | None, now: int) -> bool:
    """Return True if a conversation has been silent for more than 30 minutes.

    If `now` is before `last_at`, or `last_at` is None, the session is not over.
    """
    return last_at is not None and now - last_at > SESSION_TIMEOUT_US


def rejections_in_a_row(newest_first: Sequence[Turn], now: int) -> int:
    """Return the number of consecutive rejected turns at the end of the current session."""
    count, later = 0, now
    for turn in newest_first:
        if turn.status != "rejected" or session_over(turn.at, later):
            break
        count, later = count + 1, turn.at if turn.at is not None else later
    return count
