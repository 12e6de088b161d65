"""Input and output types of the detector: messages, targets and verdicts.

Times are integers in microseconds since the epoch. Scores and confidences are in [0, 1] unless stated otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from contracts.base import DecidedBy as DecidedBy
from contracts.detectors import ANNOUNCEMENT_THRESHOLD

Role = Literal["human", "agent"]
Feedback = Literal["rejected", "accepted", "neutral"]
Reaction = Literal["ok", "not_ok"]
GateCall = Literal["ok", "not_ok", "neutral"]
CorrectionType = Literal["explicit", "rephrased", "abandonment"]
#: Rule that selected a target: the message is a reply (`named`), the latest answer to its writer in the thread
#: (`thread`) or channel (`own_latest`), or words that only an older answer has (`older_named`).
TargetRule = Literal["named", "thread", "own_latest", "older_named"]

#: Maximum number of earlier messages of a conversation that affect a verdict.
NEIGHBOURHOOD: Final = 24


@dataclass(frozen=True, slots=True)
class Message:
    """Message written by a person or an agent in a conversation.

    Attributes:
        agent_id: Id of the agent, or None for a person's message.
        at: Time of the message in microseconds since the epoch.
        reply_to: Id of the message that this one replies to, if the chat provides it.
        thread_id: Id of the thread, if the chat provides it.
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
    """A person's message and up to `NEIGHBOURHOOD` earlier messages, sorted by (at, message_id)."""

    before: tuple[Message, ...]
    message: Message


@dataclass(frozen=True, slots=True)
class Target:
    """Agent's message that feedback is about.

    Attributes:
        score: 0.85 * `similarity` + 0.15 * `recency`.
        turns_back: Distance in agents' messages; 1 is the latest.
        rule: The rule that selected the target.
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
    """Verdict on a person's message as feedback on an agent's answer.

    Attributes:
        confidence: Estimated probability that `feedback` is right.
        user_said: The message, truncated to `detector.QUOTE` characters.
        rules: Names of the rule and the patterns that match the message.
        decided_by: Deciding part. For "rules", the confidence is a constant of the specification. For "learned", it is
            a probability from the classifier (that of an approval if `gate` is ok). For "llm", it is the value given by
            the language model.
        gate: Stricter verdict on the same message.
        scores: The similarity to the request, and the classifier's probabilities.
        status_only: True if the message starts a new topic. The verdict then sets the earlier turn to accepted with
            confidence 0.5 and is never announced.
        settled: True if no language model is asked, because the verdict is certain or there is nothing to decide.
        encoder: Name of the detector's reader, or None if only words and patterns judge.
        rule: Row of `detector.rules.RULES` that decided, or "learned" or "llm".
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

    @property
    def emitted(self) -> bool:
        """True if the verdict is announced.

        Rejections are announced if they are confident. Acceptances are announced if they are confident and their gate
        (the stricter verdict) is ok. A follow-up question is not announced, because it says nothing about the quality
        of the answer.
        """
        if self.target is None or self.status_only or self.confidence < ANNOUNCEMENT_THRESHOLD:
            return False
        return self.feedback == "rejected" or (self.feedback == "accepted" and self.gate == "ok")

    @property
    def status(self) -> Feedback:
        """Status that the verdict gives to the turn of the answer.

        The status is `feedback`, except that a rejection below the announcement threshold gives the status neutral.
        """
        is_doubtful = self.confidence < ANNOUNCEMENT_THRESHOLD
        return "neutral" if self.feedback == "rejected" and is_doubtful else self.feedback
