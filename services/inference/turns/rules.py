"""Rules for turns: effective status, satisfaction, ranking of strategies, and the end of a session. No I/O.

Times are in microseconds since 1970. Scores and confidences are from 0 to 1 unless stated otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from contracts.message_fields import TurnKey
from detector.model import CorrectionType, Feedback
from detector.rules import SESSION_TIMEOUT_US

UNJUDGED: Final = 0.5
"""Confidence of a turn without feedback."""
QUALITY_WEIGHT: Final = 0.6
STATUS_WEIGHT: Final = 0.4
_WEIGHT: Final[Mapping[Feedback, float]] = {"rejected": -1.0, "accepted": 0.5, "neutral": 0.0}
_BASE: Final[Mapping[str | None, float]] = {"APPROVE": 0.5, "REVISE": 0.3, "RETRY": 0.1, "FAIL": -0.5}
STATUS_OF: Final[Mapping[str, Feedback]] = {"ok": "accepted", "not_ok": "rejected", "neutral": "neutral"}
"""Status of a turn by the reaction to it."""
METADATA_NAME: Final[Mapping[CorrectionType, str]] = {
    "explicit": "explicit_correction",
    "rephrased": "rephrased_query",
    "abandonment": "abandonment",
}
"""Name of a correction type in the turn metadata."""


@dataclass(frozen=True, slots=True)
class TurnFeedback:
    """Feedback on a turn: the detector's verdict, a person's reaction, or what counts of the two.

    Attributes:
        confidence: 1 if a person gave the status.
        user_said: The person's comment, or the text of the message that the detector judged.
        detected_in: Turn id of that message. None if a person reacted to the turn itself.
        detected_at: Time of the message or the reaction. None if there is no feedback.
        tags: Reason tags that the person chose.
        correction: The correct answer, in the person's words.
    """

    status: Feedback = "neutral"
    confidence: float = UNJUDGED
    correction_type: CorrectionType | None = None
    user_said: str | None = None
    detected_in: str | None = None
    detected_at: int | None = None
    tags: tuple[str, ...] = ()
    correction: str | None = None


@dataclass(frozen=True, slots=True)
class Turn:
    """A turn from the index.

    Every field except the key may be None, for example if only feedback on the turn is known.

    Attributes:
        machine: The detector's verdict.
        user: The effective reaction of the last person who reacted: explicit feedback or an emoji.
        similarity: Similarity of the turn's question to the searched text, from 0 to 1. None if no text was searched.
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
    machine: TurnFeedback | None = None
    user: TurnFeedback | None = None
    similarity: float | None = None

    @property
    def feedback(self) -> TurnFeedback:
        """The feedback that counts: a person's reaction, otherwise the detector's verdict.

        A verdict with the same status as the reaction adds its correction type, and its message if the person did not
        comment.
        """
        machine, user = self.machine, self.user
        if user is None:
            return machine or TurnFeedback()
        if machine is None or machine.status != user.status:
            return user
        return replace(user, correction_type=machine.correction_type, user_said=user.user_said or machine.user_said)

    @property
    def status(self) -> Feedback:
        return self.user.status if self.user else self.machine.status if self.machine else "neutral"

    @property
    def judged_by_user(self) -> bool:
        """True if a person's reaction determines the status."""
        return self.user is not None

    @property
    def rejection_detected_in(self) -> str | None:
        """The turn id of the message that rejected this turn.

        None if no message rejected it, or if the turn has another status.
        """
        rejected = self.machine is not None and self.machine.status == self.status == "rejected"
        return self.machine.detected_in if self.machine and rejected else None

    @property
    def satisfaction(self) -> float:
        """The satisfaction with the turn, from -1 to 1.

        A rejected turn has -1. Any other turn has the value of its validation outcome, or 0 if the outcome is unknown.
        An acceptance adds 0.5, up to a maximum of 1.
        """
        if self.status == "rejected":
            return -1.0
        base = _BASE.get(self.validation_outcome, 0.0)
        return min(1.0, round(base + 0.5, 6)) if self.status == "accepted" else base

    @property
    def ranking_score(self) -> float:
        """The weighted sum of quality (0 if unknown) and status, from -0.4 to 0.8."""
        return round((self.quality_score or 0.0) * QUALITY_WEIGHT + _WEIGHT[self.status] * STATUS_WEIGHT, 6)


def ranked(turns: Iterable[Turn], limit: int) -> list[Turn]:
    """Return the best `limit` turns to learn from, best first.

    Accepted turns come before neutral ones, and rejected turns are left out. Within each group, turns are sorted by
    quality, then similarity, then recency.
    """
    return sorted((turn for turn in turns if turn.status != "rejected"), key=_rank)[:limit]


def _rank(turn: Turn) -> tuple[bool, float, float, int, TurnKey]:
    quality = turn.quality_score if turn.quality_score is not None else -1.0
    return turn.status != "accepted", -quality, -(turn.similarity or 0.0), -(turn.at or 0), turn.key


def rejections_in_a_row(newest_first: Sequence[Turn], now: int) -> int:
    """Count the consecutive rejected turns at the end of the current session.

    A session ends after 30 minutes of silence.
    """
    count, later = 0, now
    for turn in newest_first:
        at = later if turn.at is None else turn.at
        if turn.status != "rejected" or later - at > SESSION_TIMEOUT_US:
            break
        count, later = count + 1, at
    return count
