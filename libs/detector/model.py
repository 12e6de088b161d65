"""Input and output of the detector: messages, targets and verdicts.

Times are integer microseconds since the epoch. Scores and confidences are in [0, 1] unless a field says otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from contracts.announcement_threshold import ANNOUNCEMENT_THRESHOLD
from contracts.base import DecidedBy as DecidedBy

Role = Literal["human", "agent"]
Feedback = Literal["rejected", "accepted", "neutral"]
Reaction = Literal["ok", "not_ok"]
GateCall = Literal["ok", "not_ok", "neutral"]
CorrectionType = Literal["explicit", "rephrased", "abandonment"]
#: Rule that selected a target: the message is a reply (`named`), the latest answer to its writer in the thread
#: (`thread`) or channel (`own_latest`), or words that only an older answer has (`older_named`).
TargetRule = Literal["named", "thread", "own_latest", "older_named"]

#: Reason for not announcing a verdict. In order: a client program wrote the message; the detector does not read its
#: language; the verdict is neutral; there is no answer that it could be about; the message starts a new topic; it
#: continues the conversation without praise; the confidence is below `ANNOUNCEMENT_THRESHOLD`; the published precision
#: of this kind of verdict is below the target precision.
HeldBack = Literal[
    "machine_text",
    "language",
    "no_feedback",
    "no_answer",
    "topic_change",
    "follow_up",
    "below_threshold",
    "below_target",
]
#: Row of `detector.rules.RULES` with a neutral verdict -> reason that replaces `no_feedback`.
_ABSTAINED: Final[Mapping[str, HeldBack]] = {"rule.machine_text": "machine_text", "abstained.language": "language"}

#: Maximum number of earlier messages of a conversation that affect a verdict.
NEIGHBOURHOOD: Final = 24


@dataclass(frozen=True, slots=True)
class Message:
    """Message of a conversation, written by a person or an agent.

    `at` is in microseconds since the epoch. `agent_id` is None for a person's message. `reply_to` is the id of the
    message to which it replies, `thread_id` the id of its thread. Both are None if the chat does not provide them.
    """

    message_id: str
    turn_id: str
    sender_id: str
    role: Role
    agent_id: str | None
    text: str
    at: int
    reply_to: str | None = None
    thread_id: str | None = None


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """A person's message and at most `NEIGHBOURHOOD` messages before it, sorted by (at, message_id)."""

    before: tuple[Message, ...]
    message: Message


@dataclass(frozen=True, slots=True)
class Target:
    """Agent's message that feedback is about.

    `score` = 0.85 * `similarity` + 0.15 * `recency`. `turns_back` is the distance in agent messages; 1 is the latest.
    `rule` is the rule that selected the target.
    """

    turn_id: str
    message_id: str
    agent_id: str
    score: float
    similarity: float
    recency: float
    turns_back: int
    rule: TargetRule = "own_latest"


@dataclass(frozen=True, slots=True)
class Verdict:
    """Result of judging a person's message: its feedback on an agent's answer.

    - `confidence`: estimated probability that `feedback` is right; `scores` has the uncalibrated score (`calibration`).
    - `user_said`: the message, at most `detector.QUOTE` characters.
    - `rules`: names of the patterns, rules and features behind the verdict.
    - `rule`: row of `detector.rules.RULES` that decided, or "learned" or "llm".
    - `decided_by`: layer that decided. The score is a constant of the specification for "rules", the learned
      probability for "learned" (of approval if `gate` is ok), and the model's own value for "llm".
    - `scores`: `score`, for rejections `ranking`, similarities, and probabilities of the learned layer.
    - `status_only`: the message starts a new topic. The verdict sets the earlier turn to accepted with confidence 0.5,
      and is never announced.
    - `settled`: a language model is not asked, because a rule decided alone or there was nothing to decide.
    - `encoder`: name of the detector's sentence encoder; None if only word vectors are used.
    - `falls_short`: see `published.falls_short`.
    """

    feedback: Feedback
    reaction: Reaction | None
    confidence: float
    correction_type: CorrectionType | None
    user_said: str
    target: Target | None
    rules: tuple[str, ...]
    decided_by: DecidedBy
    gate: GateCall
    scores: Mapping[str, float] = field(default_factory=dict)
    status_only: bool = False
    settled: bool = True
    encoder: str | None = None
    rule: str = ""
    falls_short: bool = False

    @property
    def emitted(self) -> bool:
        """True if the verdict is announced: a confident rejection, or a confident acceptance with the gate ok.

        A follow-up question is not announced, because it says nothing about the answer's quality.
        """
        return self.held_back is None

    @property
    def held_back(self) -> HeldBack | None:
        """Reason for not announcing the verdict; None if the verdict is announced."""
        if self.feedback == "neutral":
            return _ABSTAINED.get(self.rule, "no_feedback")
        if self.target is None:
            return "no_answer"
        if self.status_only:
            return "topic_change"
        if self.feedback == "accepted" and self.gate != "ok":
            return "follow_up"
        if self.confidence < ANNOUNCEMENT_THRESHOLD:
            return "below_threshold"
        return "below_target" if self.falls_short else None

    @property
    def status(self) -> Feedback:
        """Status that the verdict gives to its target turn.

        A rejection gives neutral if its confidence is below the threshold or its published precision below the target.
        """
        is_doubtful = self.confidence < ANNOUNCEMENT_THRESHOLD or self.falls_short
        return "neutral" if self.feedback == "rejected" and is_doubtful else self.feedback
