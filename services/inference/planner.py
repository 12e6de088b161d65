"""What an agent that plans its next answer is told about the last one: a piece of markdown. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from inference.model import CorrectionType, Feedback
from inference.turns import Turn, metadata_name

QUOTE: Final = 500
"""Characters of a person's words that are quoted."""
CAREFUL_FROM: Final = 2
"""From so many rejections in a row on, the planner is told to be more careful."""
_OUTCOMES: Final[Mapping[str, str]] = {
    "REVISE": "the validation asked for a revision",
    "RETRY": "the validation asked for another try",
    "FAIL": "the validation failed it",
}
_INSTRUCTIONS: Final[Mapping[Feedback, tuple[str, ...]]] = {
    "rejected": (
        "Do not repeat the previous answer or the way it was reached.",
        "Address what the user objected to before anything else.",
    ),
    "accepted": ("Build on the previous answer; the way it was reached may be used again.",),
    "neutral": (),
}
_BY_CORRECTION: Final[Mapping[CorrectionType, str]] = {
    "explicit": "The user said that it was wrong: take their correction as given and check the rest against it.",
    "rephrased": "The user asked the same again in other words: read the request afresh, from another angle.",
    "abandonment": "The user gave up on it: offer another way, or the smallest next step.",
}


@dataclass(frozen=True, slots=True)
class Advice:
    """What the markdown is made of. `rejections` counts the latest turns that were rejected one after the other."""

    turn: Turn
    rejections: int


def render(advice: Advice) -> str | None:
    """The section "Previous Response Feedback"; None where nothing is said of the turn."""
    turn = advice.turn
    if turn.status == "neutral":
        return None
    lines = ["## Previous Response Feedback", "", *(f"- {name}: {value}" for name, value in _facts(turn))]
    for title, words in _quotes(turn):
        lines += ["", f"{title}:", "", *_quoted(words)]
    return "\n".join([*lines, "", "### Instructions", "", *(f"- {one}" for one in instructions(advice))]) + "\n"


def instructions(advice: Advice) -> tuple[str, ...]:
    """What the planner should do, most general first."""
    turn = advice.turn
    told = _INSTRUCTIONS[turn.status]
    if turn.correction_type is not None:
        told += (_BY_CORRECTION[turn.correction_type],)
    if turn.status == "rejected" and turn.strategy is not None:
        told += (f"Choose another strategy than {_code(turn.strategy)}.",)
    if turn.status == "rejected" and advice.rejections >= CAREFUL_FROM:
        told += (
            f"{advice.rejections} answers in a row were rejected: be more careful, check every claim before you make "
            "it, and consider asking the user what exactly they need.",
        )
    return told


def _facts(turn: Turn) -> list[tuple[str, str]]:
    how = metadata_name(turn.correction_type)
    told = [("Status", f"{turn.status} (confidence {turn.confidence:.2f}{f', {how}' if how else ''})")]
    told.append(("Turn", _code(turn.key.turn_id)))
    told.append(("Detected in", _detected_in(turn)))
    if turn.strategy is not None:
        told.append(("Previous strategy", _code(turn.strategy)))
    if turn.status == "rejected" and (wrong := _wrong(turn)):
        told.append(("What went wrong", "; ".join(wrong)))
    return told


def _detected_in(turn: Turn) -> str:
    if turn.user is not None:
        return "the user's own judgement of the turn"
    return f"turn {_code(turn.machine.detected_in_turn_id)}" if turn.machine else "nothing"


def _wrong(turn: Turn) -> list[str]:
    told = [_code(tag) for tag in turn.user.tags] if turn.user else []
    outcome = _OUTCOMES.get(turn.validation_outcome or "")
    return [*told, outcome] if outcome else told


def _quotes(turn: Turn) -> list[tuple[str, str]]:
    correction = turn.user.correction if turn.user else None
    told = [("The user said", turn.user_said), ("It should have been", correction)]
    return [(title, words) for title, words in told if words and words.strip()]


def _quoted(words: str) -> list[str]:
    """A block quote: whatever the words hold, they stay inside it."""
    cut = words.strip()
    cut = cut if len(cut) <= QUOTE else cut[:QUOTE].rstrip() + " …"
    return [f"> {line}".rstrip() for line in cut.splitlines()]


def _code(name: str) -> str:
    return f"`{' '.join(name.split()).replace('`', chr(39))}`"
