"""Writes the section about the last answers for the planner of the next one, as Markdown. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from detector.model import CorrectionType, Feedback
from inference.turns.rules import Turn, metadata_name

QUOTE: Final = 500
"""Characters of a person's words that are quoted."""
GIST: Final = 120
"""Characters of a question or an answer that are quoted on one line."""
RECENT: Final = 5
"""Turns that the conversation's context shows."""
CAREFUL_FROM: Final = 2
"""From so many rejections in a row on, the planner is asked to be more careful."""
_OUTCOMES: Final[Mapping[str, str]] = {
    "REVISE": "the validation asked for a revision",
    "RETRY": "the validation asked for another try",
    "FAIL": "the validation failed it",
}
_WRONG: Final[Mapping[CorrectionType, str]] = {
    "explicit": "the user said that it was wrong",
    "rephrased": "it missed what was asked, for the user asked again in other words",
    "abandonment": "the user gave up on it",
}
_VERBS: Final[Mapping[Feedback, str]] = {"rejected": "rejection", "accepted": "acceptance", "neutral": "reception"}
_BY_CORRECTION: Final[Mapping[CorrectionType, str]] = {
    "explicit": "The user said that it was wrong: take their correction as given and check the rest against it.",
    "rephrased": "The user asked the same again in other words: read the request afresh, from another angle.",
    "abandonment": "The user gave up on it: offer another way, or the smallest next step.",
}
_NOTHING: Final = "- Nothing is known yet."


@dataclass(frozen=True, slots=True)
class Advice:
    """Input of the markdown.

    `rejections` counts the latest turns that were rejected one after the other; `recent` are the conversation's latest
    turns, newest first.
    """

    turn: Turn
    rejections: int
    recent: Sequence[Turn] = ()


def render(advice: Advice) -> str | None:
    """The section "2. Gathered Context"; None where nothing is said of the turn."""
    if advice.turn.status == "neutral":
        return None
    parts = [
        ["## 2. Gathered Context"],
        ["### Previous Response Feedback"],
        _feedback(advice.turn),
        ["#### Instruction for Planner"],
        [f"- {one}" for one in instructions(advice)],
        ["### Conversation Context"],
        [_line(turn) for turn in reversed(advice.recent[:RECENT])] or [_NOTHING],
        ["### Session Preferences"],
        [*_preferences(advice)] or [_NOTHING],
    ]
    return "\n\n".join("\n".join(part) for part in parts) + "\n"


def instructions(advice: Advice) -> tuple[str, ...]:
    """Return the instructions for the planner, most general first."""
    turn, name = advice.turn, _code(advice.turn.key.turn_id)
    if turn.status == "accepted":
        return (f"Build on the answer of turn {name}; the way it was reached may be used again.",)
    if turn.status == "neutral":
        return ()
    section = [
        f"Do not reuse the answer of turn {name} or the way it was reached.",
        "Address what the user objected to before anything else.",
    ]
    if turn.correction_type is not None:
        section.append(_BY_CORRECTION[turn.correction_type])
    if turn.strategy is not None:
        section.append(f"Choose another strategy than {_code(turn.strategy)}.")
    if advice.rejections >= CAREFUL_FROM:
        section.append(
            f"{advice.rejections} answers in a row were rejected: be more careful, check every claim before you make "
            "it, and consider asking the user what exactly they need."
        )
    return tuple(section)


def _feedback(turn: Turn) -> list[str]:
    how = metadata_name(turn.correction_type)
    lines = [
        f"- Status: {turn.status.upper()} (confidence {turn.confidence:.2f}{f', {how}' if how else ''})",
        f"- Detected: {_detected(turn)}",
        *_quoted("User said", turn.user_said),
    ]
    if turn.strategy is not None or turn.user_text:
        strategy = _code(turn.strategy) if turn.strategy else "not known"
        lines.append(
            f"- Previous strategy: {strategy}{f', for the query {_gist(turn.user_text)}' if turn.user_text else ''}"
        )
    if turn.status == "rejected":
        unsaid = "see what the user said" if (turn.user_said or "").strip() else "the user did not say"
        lines.append(f"- What went wrong: {'; '.join(_wrong(turn)) or unsaid}")
    return [*lines, *_quoted("It should have been", turn.user.correction if turn.user else None)]


def _detected(turn: Turn) -> str:
    name = _code(turn.key.turn_id)
    if turn.user is not None:
        return f"the user's own reaction to turn {name}"
    where = f"turn {_code(turn.machine.detected_in_turn_id)}" if turn.machine else "nothing"
    return f"{where} detected the {_VERBS[turn.status]} of turn {name}"


def _wrong(turn: Turn) -> list[str]:
    section = [_code(tag) for tag in turn.user.tags] if turn.user else []
    if turn.correction_type is not None:
        section.append(_WRONG[turn.correction_type])
    outcome = _OUTCOMES.get(turn.validation_outcome or "")
    return [*section, outcome] if outcome else section


def _line(turn: Turn) -> str:
    said = [f"asked {_gist(turn.user_text)}"] if turn.user_text else []
    said += [f"answered {_gist(turn.assistant_text)}"] if turn.assistant_text else []
    return f"- Turn {_code(turn.key.turn_id)}, {turn.status.upper()}: {', '.join(said) or 'nothing is known of it'}"


def _preferences(advice: Advice) -> Iterable[str]:
    """Return the person's corrections and acceptances in earlier turns, oldest first, without the turn advised on."""
    for turn in reversed(advice.recent):
        if turn.key == advice.turn.key or turn.user_id != (advice.turn.user_id or turn.user_id):
            continue
        words = (turn.user.correction if turn.user else None) or turn.user_said
        name = _code(turn.key.turn_id)
        if turn.status == "rejected":
            yield f"- Rejected turn {name}{f', saying {_gist(words)}' if words and words.strip() else ''}."
        elif turn.status == "accepted":
            yield f"- Accepted turn {name}{f', reached by {_code(turn.strategy)}' if turn.strategy else ''}."


def _quoted(title: str, words: str | None) -> list[str]:
    """A block quote under its title: whatever the words hold, they stay inside it."""
    cut = (words or "").strip()
    if not cut:
        return []
    cut = cut if len(cut) <= QUOTE else cut[:QUOTE].rstrip() + " …"
    return [f"- {title}:", *(f"  > {line}".rstrip() for line in cut.splitlines())]


def _gist(words: str) -> str:
    """The beginning of a text, on one line."""
    line = " ".join(words.split())
    return _code(line if len(line) <= GIST else line[:GIST].rstrip() + " …")


def _code(name: str) -> str:
    return f"`{' '.join(name.split()).replace('`', chr(39))}`"
