"""Verdicts in words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from detector.explain import render
from detector.model import Verdict
from detector.published import PUBLISHED
from detector.supporting_words import supporting_words

Judge = Callable[[str, str, str], Verdict]


def test_a_rejection_in_words(said: Judge) -> None:
    text = render(said("that's not what I asked", "when did it open", "It is 200 m long."))
    assert text.startswith("The answer is rejected: it is turned down.")
    assert "0.90, announced" in text
    assert "en.not_what_i_asked" in text
    assert "turn previous (1 back)" in text
    assert '  words       "not what i asked"' in text
    right, checked = PUBLISHED["not_ok"]
    assert f"{right} of {checked} such verdicts were right in published tests (71% to 83%)" in text


def test_a_verdict_that_falls_short_in_words(said: Judge) -> None:
    text = render(replace(said("that's not what I asked", "when did it open", "It is 200 m long."), falls_short=True))
    assert "not announced: such verdicts are right less often than the target precision" in text
    assert "published tests" not in text


def test_nothing_said_in_words(said: Judge) -> None:
    text = render(said("", "when did it open", "In 1932."))
    assert text.startswith("Nothing is said about the answer.")
    assert "not announced" in text
    assert "  words  " not in text


@pytest.mark.parametrize(
    ("message", "rules", "words"),
    [
        ("Thanks! But that is wrong.", ("en.is_wrong", "en.thanks"), ("thanks", "that is wrong")),
        ("That's wrong, try again", ("en.negative_word", "en.is_wrong"), ("that's wrong",)),
        ("That's wrong", ("learned.reject", "rule.mixed"), ()),
        ("no pattern of these matches", ("en.is_wrong",), ()),
    ],
)
def test_the_words_behind_a_verdict_are_parts_of_the_message(
    message: str, rules: tuple[str, ...], words: tuple[str, ...]
) -> None:
    assert supporting_words(message, rules) == words
