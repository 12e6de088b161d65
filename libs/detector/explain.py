"""Explain verdicts in plain text, and format the detector's rule tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from contracts.detectors import ANNOUNCEMENT_THRESHOLD
from detector.detector import Detector
from detector.encoders.choice import how_to_add_encoder
from detector.model import Message, Neighbourhood, Verdict
from detector.reasons import WORDS, reason_in_words
from detector.rules import RULES

#: Maximum number of words that are left out, and that are shown, and the minimum weight of a shown word.
WORDS_LEFT_OUT: Final = 40
WORDS_SHOWN: Final = 8
LEAST_WEIGHT: Final = 0.05

_MINUTE: Final = 60_000_000
_SAYS: Final = {
    "rejected": "The answer is rejected",
    "accepted": "The answer is accepted",
    "neutral": "Nothing is said about the answer",
}
_WHO: Final = {"rules": "a rule", "learned": "the classifier", "llm": "the LLM gate"}
_HOW: Final = {
    "explicit": "it is turned down",
    "rephrased": "the request is asked again",
    "abandonment": "the person gives up on it",
}
RULE_HEADS: Final = ("rule", "the message", "verdict", "confidence")


def exchange(message: str, previous_user: str = "", previous_assistant: str = "") -> Neighbourhood:
    """Return a message that follows a single request and answer, sent at intervals of one minute."""
    turns = [("human", previous_user), ("agent", previous_assistant)]
    before = tuple(
        Message(
            message_id=f"before-{number}",
            turn_id="previous",
            sender_id=role,
            role="agent" if role == "agent" else "human",
            agent_id="agent" if role == "agent" else None,
            text=text,
            at=number * _MINUTE,
        )
        for number, (role, text) in enumerate(turns)
        if text
    )
    return Neighbourhood(before, Message("message", "now", "human", "human", None, message, 2 * _MINUTE))


def explain(
    message: str, previous_user: str = "", previous_assistant: str = "", detector: Detector | None = None
) -> Verdict:
    """Judge a message that follows a single request and answer.

    Uses `Detector.default()` if `detector` is None.
    """
    return (detector or Detector.default()).judge([exchange(message, previous_user, previous_assistant)])[0]


def weighty_words(detector: Detector, item: Neighbourhood, verdict: Verdict) -> list[tuple[str, float]]:
    """Return up to `WORDS_SHOWN` words of a message that the verdict depends on, with their weights, greatest first.

    The weight of a word is the confidence that the verdict loses if the word is left out. If another feedback is then
    more probable, the weight is the whole confidence. Only the first `WORDS_LEFT_OUT` words are tried, one at a time.
    """
    words = item.message.text.split()
    shorter = [
        replace(item, message=replace(item.message, text=" ".join(words[:number] + words[number + 1 :])))
        for number in range(min(len(words), WORDS_LEFT_OUT))
    ]
    weights = [
        (word, verdict.confidence - (without.confidence if without.feedback == verdict.feedback else 0.0))
        for word, without in zip(words, detector.judge(shorter), strict=False)
    ]
    heaviest = sorted(weights, key=lambda weighted: -weighted[1])[:WORDS_SHOWN]
    return [(word, round(weight, 2)) for word, weight in heaviest if weight >= LEAST_WEIGHT]


def render(verdict: Verdict, words: Sequence[tuple[str, float]] = ()) -> str:
    """Return the verdict, and the words that it depends on, as a few lines of plain text."""
    if verdict.status_only:
        head = "A new topic: the earlier turn's status becomes accepted, nothing is announced"
    else:
        head = _SAYS[verdict.feedback]
    if verdict.correction_type:
        head += f": {_HOW[verdict.correction_type]}"
    lines = [
        f"{head}.",
        f"  confidence  {verdict.confidence:.2f}, {_announced(verdict)}",
        f"  decided by  {_WHO[verdict.decided_by]}",
        f"  gate        {verdict.gate}",
        f"  because it  {'; '.join(reason_in_words(verdict.rules)) or 'says nothing that speaks either way'}",
        f"  rules       {', '.join(verdict.rules) or 'none'}",
    ]
    if words:
        lines.append("  words       " + ", ".join(f"{word} {weight:.2f}" for word, weight in words))
    if verdict.encoder is None:
        lines.append(f"  encoder     none: only words and patterns judge; to add one: {how_to_add_encoder()}")
    if verdict.target:
        target = verdict.target
        lines.append(
            f"  about       turn {target.turn_id} ({target.turns_back} back), score {target.score:.2f}"
            f" = 0.85 * {target.similarity:.2f} + 0.15 * {target.recency:.2f}"
        )
    lines.append("  scores      " + ", ".join(f"{name} {value:.2f}" for name, value in verdict.scores.items()))
    return "\n".join(lines)


def rule_rows() -> Iterable[Sequence[str]]:
    """Yield the rows of the table `RULES` as text, with the columns `RULE_HEADS`.

    Names from the code are enclosed in backticks.
    """
    for rule in RULES:
        feedback, confidence, correction_type, gate, is_new_topic = rule.verdict
        verdict = ", ".join(filter(None, (feedback, correction_type, "status only" if is_new_topic else "")))
        stated = "the similarity" if confidence is None else f"{confidence:.2f}"
        yield f"`{rule.name}`", WORDS[f"rule.{rule.name}"], f"{verdict}, gate {gate}", stated


def _announced(verdict: Verdict) -> str:
    if verdict.emitted:
        return "announced"
    if verdict.feedback == "neutral" or verdict.status_only:
        return "not announced"
    if verdict.target is None:
        return "not announced: there is no answer that it could be about"
    if verdict.confidence < ANNOUNCEMENT_THRESHOLD:
        return f"not announced: below {ANNOUNCEMENT_THRESHOLD:.2f}"
    return "not announced: it builds on the answer, and says nothing about its quality"
