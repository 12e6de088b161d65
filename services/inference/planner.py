"""Markdown section about the latest answers for the planner's prompt. No I/O."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from detector.model import CorrectionType, Feedback
from inference.objection import objection
from inference.turns.rules import Turn

QUOTE: Final = 500
"""Maximum length of a quoted message, in characters."""
GIST: Final = 120
"""Maximum length of a quoted question or answer, in characters. A quoted objection may be twice as long."""
RECENT: Final = 5
"""Maximum number of turns under "Conversation Context"."""
CAREFUL_FROM: Final = 2
"""Number of consecutive rejections at which the planner is told to be more careful."""
ACCEPTED_FROM: Final = 0.6
"""Minimum confidence for a turn to count as accepted. The start of a new topic has 0.5, so it does not count."""
_OUTCOMES: Final[Mapping[str, str]] = {
    "REVISE": "the validation asked for a revision",
    "RETRY": "the validation asked for another try",
    "FAIL": "the validation failed it",
}
_WRONG: Final[Mapping[CorrectionType | None, str]] = {
    None: "{words}",
    "explicit": "{words}",
    "rephrased": "it missed the request, which the user repeated: {words}",
    "abandonment": "the user gave up: {words}",
}
_BY_CORRECTION: Final[Mapping[CorrectionType, str]] = {
    "explicit": "Take the user's correction as given, and check the rest of the answer against it",
    "rephrased": "Read the request afresh, and adjust the search query to be specific",
    "abandonment": "Offer another way, or the smallest next step",
}
_NOTHING: Final = "- Nothing is known yet."
_PLAIN: Final = re.compile(r"[\w.:/@-]{1,100}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Advice:
    """Input of `render`.

    Attributes:
        turn: The turn that the feedback is about.
        rejections: Number of consecutive rejected turns up to the latest one.
        recent: The latest turns of the conversation, newest first.
    """

    turn: Turn
    rejections: int
    recent: Sequence[Turn] = ()


def render(advice: Advice | None, worked: Sequence[Turn] = (), *, may_lack_latest: bool = False) -> str | None:
    """Return the Markdown section "2. Gathered Context", or None if there is neither feedback nor a strategy.

    Args:
        worked: Turns whose strategies worked for similar questions.
        may_lack_latest: True to mention that the latest messages may be missing.
    """
    parts = [] if advice is None or _status(advice.turn) == "neutral" else _previous(advice, may_lack_latest)
    if worked:
        parts.append("\n".join(["### Strategies That Worked for Similar Questions", *map(_strategy, worked)]))
    return "\n\n".join(["## 2. Gathered Context", *parts]) + "\n" if parts else None


def instructions(advice: Advice) -> tuple[str, ...]:
    """Return the instructions for the planner, the most general one first."""
    turn, name = advice.turn, _name(advice.turn.key.turn_id)
    match _status(turn):
        case "accepted":
            return (f"Build on the answer of Turn {name}; its strategy may be used again",)
        case "neutral":
            return ()
    other = "" if turn.strategy is None else f": choose another than {_name(turn.strategy)}"
    section = [f"Do NOT reuse the strategy from Turn {name}{other}"]
    if turn.feedback.correction_type is not None:
        section.append(_BY_CORRECTION[turn.feedback.correction_type])
    if advice.rejections >= CAREFUL_FROM:
        section.append(
            f"Multiple rejections - be more careful: {advice.rejections} answers in a row were rejected, so consider"
            " CLARIFY and ask the user what exactly they need"
        )
    return tuple(section)


def _status(turn: Turn) -> Feedback:
    """Return the turn's status, counting an acceptance with too low a confidence as neutral."""
    return "neutral" if turn.status == "accepted" and turn.feedback.confidence < ACCEPTED_FROM else turn.status


def _previous(advice: Advice, may_lack_latest: bool) -> list[str]:
    recent = [_line(turn) for turn in reversed(advice.recent[:RECENT])] or [_NOTHING]
    late = ["**Caution:** A later answer may not be indexed yet: this may be about that one"] if may_lack_latest else []
    return [
        "\n".join(["### Previous Response Feedback", *_feedback(advice.turn), *late]),
        "\n".join(["**Instruction for Planner:**", *(f"- {line}" for line in instructions(advice))]),
        "\n".join(["### Conversation Context", *recent]),
        "\n".join(["### Session Preferences", *(list(_preferences(advice)) or [_NOTHING])]),
    ]


def _feedback(turn: Turn) -> list[str]:
    lines = [f"**Status:** {turn.status.upper()}", f"**Detected:** {_detected(turn)}"]
    if words := _said(turn):
        lines.append(f"**User said:** {_quoted(words, QUOTE)}")
    if turn.strategy is not None or turn.user_text:
        strategy = _name(turn.strategy) if turn.strategy else "not known"
        query = f" with query {_quoted(turn.user_text, GIST)}" if turn.user_text else ""
        lines.append(f"**Previous strategy:** {strategy}{query}")
    if turn.status == "rejected":
        lines.append(f"**What went wrong:** {'; '.join(_wrong(turn)) or 'the user did not say'}")
    if (correction := turn.feedback.correction or "").strip():
        lines.append(f"**It should have been:** {_quoted(correction, QUOTE)}")
    return lines


def _detected(turn: Turn) -> str:
    name = _name(turn.key.turn_id)
    if turn.judged_by_user:
        return f"A person's reaction: Turn {name} was {turn.status}"
    where = f"Turn {_name(turn.machine.detected_in or '')}" if turn.machine else "Nothing"
    return f"{where} detected that Turn {name} was {turn.status}"


def _wrong(turn: Turn) -> list[str]:
    section = [_name(tag) for tag in turn.feedback.tags]
    if words := _said(turn):
        section.append(_WRONG[turn.feedback.correction_type].format(words=_quoted(objection(words), 2 * GIST)))
    outcome = _OUTCOMES.get(turn.validation_outcome or "")
    return [*section, outcome] if outcome else section


def _line(turn: Turn) -> str:
    parts = [f"asked {_quoted(turn.user_text, GIST)}"] if turn.user_text else []
    parts += [f"answered {_quoted(turn.assistant_text, GIST)}"] if turn.assistant_text else []
    return f"- Turn {_name(turn.key.turn_id)}, {_status(turn).upper()}: {', '.join(parts) or 'nothing is known of it'}"


def _preferences(advice: Advice) -> Iterable[str]:
    """Yield a line for each recent turn that the person rejected or accepted, oldest first.

    The turn that the advice is about is left out.
    """
    for turn in reversed(advice.recent):
        if turn.key == advice.turn.key or turn.user_id != (advice.turn.user_id or turn.user_id):
            continue
        words = turn.feedback.correction or turn.feedback.user_said
        name = _name(turn.key.turn_id)
        match _status(turn):
            case "rejected":
                yield f"- Rejected Turn {name}{f', saying {_quoted(words, GIST)}' if words and words.strip() else ''}"
            case "accepted":
                yield f"- Accepted Turn {name}{f', reached by {_name(turn.strategy)}' if turn.strategy else ''}"


def _strategy(turn: Turn) -> str:
    quality = f" (quality {turn.quality_score:.2f})" if turn.quality_score is not None else ""
    return f"- {_name(turn.strategy or '')}{quality}"


def _said(turn: Turn) -> str:
    return (turn.feedback.user_said or "").strip()


def _quoted(words: str, limit: int) -> str:
    """Return the first `limit` characters of a text as a quotation on one line.

    Double quotes in the text become single quotes.
    """
    line = " ".join(words.split()).replace('"', "'")
    return f'"{line if len(line) <= limit else line[:limit].rstrip() + " …"}"'


def _name(name: str) -> str:
    """Format an id or the name of a strategy for Markdown.

    Names with characters other than letters, digits and `_.:/@-` are formatted as code.
    """
    return name if _PLAIN.fullmatch(name) else f"`{' '.join(name.split()).replace('`', chr(39))}`"
