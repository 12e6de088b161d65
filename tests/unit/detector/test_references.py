"""References of a message to an answer that stands further back or was meant for somebody else."""

from __future__ import annotations

import pytest

from detector.reading import _speaks_of
from detector.text import prepare

ANSWER = "The harbour walk takes a day."
ASIDE = "I once did a walk in Rome."


@pytest.mark.parametrize(
    ("message", "kinds", "aside", "refers"),
    [
        ("the harbour is too far", (), None, True),
        ("the harbour is too far", (), ASIDE, True),
        ("the walk is too far", (), None, True),
        ("the walk is too far", (), ASIDE, False),  # of both
        ("the harbour walk is too far", (), ASIDE, True),
        ("how far is the harbour?", ("cue_ask",), None, False),
        ("too far", (), None, False),
        ("that is too far", (), None, False),
        ("that is too far", ("reject",), None, True),
        ("that is too far", ("reject",), ASIDE, False),
        ("too far", ("reject",), None, False),
        ("same here", (), ASIDE, True),
        ("I agree with Bob", (), ASIDE, True),
        ("the bot is slow", (), ASIDE, True),
        ("the bot is slow", ("cue_ask",), ASIDE, False),
    ],
)
def test_a_message_refers_by_a_word_of_the_answer_alone_or_rejects_the_only_one(
    message: str, kinds: tuple[str, ...], aside: str | None, refers: bool
) -> None:
    between = None if aside is None else prepare(aside)
    assert _speaks_of(prepare(message), "en", frozenset(kinds), prepare(ANSWER), between) is refers  # type: ignore[arg-type]
