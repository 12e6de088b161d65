"""Normalised text that the rules read."""

from __future__ import annotations

import time

import pytest

from detector.text import HEAD, TAIL, cap, prepare


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("  That’s   WRONG \n", "that's wrong"),
        ("```\nraise Wrong\n```\nworks", "works"),
        ("<b>No</b>, not <i>that</i>", "no , not that"),
        ("> that's wrong\nI agree with the quote", "i agree with the quote"),
        ("see https://wrong.example/no", "see"),
        ("a < b and b > c", "a < b and b > c"),
        ("", ""),
    ],
)
def test_only_what_the_person_says(text: str, shown: str) -> None:
    assert prepare(text).text == shown


def test_words_content_and_numbers() -> None:
    seen = prepare("I wanted 3 tickets, not 2.5!")
    assert seen.words == ("i", "wanted", "3", "tickets", "not", "2", "5")
    assert seen.content == {"wanted", "3", "tickets", "2", "5"}
    assert seen.numbers == {"3", "2.5"}


@pytest.mark.parametrize("text", ["", "   ", "🙂🙂", "?!...", "\ud800", "\x00", "```code```"])
def test_a_text_without_words(text: str) -> None:
    assert prepare(text).words == ()


def test_a_text_of_the_greatest_length_is_read_whole() -> None:
    text = "x" * (HEAD + TAIL)
    assert (cap(text), len(cap(f"{text}x"))) == (text, HEAD + TAIL + 1)


def test_a_long_text_keeps_its_head_and_its_tail() -> None:
    text = "start " + "x" * 100_000 + " that's wrong"
    assert len(cap(text)) <= HEAD + TAIL + 1
    assert prepare(text).text.startswith("start")
    assert prepare(text).text.endswith("that's wrong")


@pytest.mark.parametrize("text", ["```" * 40_000, "`" * 100_000, "<" * 100_000, "<a " * 40_000, "> \n" * 40_000])
def test_broken_markup_is_not_slow(text: str) -> None:
    started = time.process_time()
    prepare(text)
    assert time.process_time() - started < 0.1
