"""The screen before the patterns: what it finds is what trying every pattern finds."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from samples import CHAT_EVENTS, HOSTILE, SAMPLES, needs_samples

from detector.patterns import AGENT, LANGUAGES, Pattern
from detector.patterns import screen as screen_module
from detector.patterns.necessary import Sign, alternatives, needs
from detector.patterns.screen import Screen
from detector.text import Prepared, prepare
from training.make import DATA

TABLES = {**LANGUAGES, **{f"agent-{name}": patterns for name, patterns in AGENT.items()}}
SCREENS = {name: Screen(patterns) for name, patterns in TABLES.items()}
ALL = [p for patterns in TABLES.values() for p in patterns]
#: The pieces that expressions are made of, so that texts often nearly match.
PIECES = sorted({word for p in ALL for word in re.findall(r"[^\W\d_]+|[?!.,;:'\"-]", p.source)})


def plainly(table: str, text: str) -> tuple[Pattern, ...]:
    return tuple(p for p in TABLES[table] if p.regex.search(text))


def agrees(seen: Prepared) -> None:
    for table, screen in SCREENS.items():
        assert screen.search(seen.text, seen.words) == plainly(table, seen.text), (table, seen.text)


@pytest.mark.parametrize("pattern", ALL, ids=lambda p: p.name)
def test_no_text_that_a_pattern_matches_is_screened_out(pattern: Pattern) -> None:
    screen = Screen([pattern])

    @settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.from_regex(pattern.regex, fullmatch=False))
    def every(text: str) -> None:
        seen = prepare(text)
        assert bool(screen.search(seen.text, seen.words)) == bool(pattern.regex.search(seen.text))

    every()


@settings(max_examples=400, deadline=None)
@given(
    st.lists(st.sampled_from(PIECES) | st.text(max_size=3), max_size=30),
    st.sampled_from([" ", " ", " ", "", "'", "_", "é", "-"]),
)
def test_texts_made_of_the_pieces_of_patterns(pieces: list[str], between: str) -> None:
    agrees(prepare(between.join(pieces)))


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=300))
def test_any_text(text: str) -> None:
    agrees(prepare(text))


def test_every_text_of_the_training_data() -> None:
    for line in (DATA / "exchanges.jsonl").read_text(encoding="utf-8").splitlines()[::7]:
        row = json.loads(line)
        for text in (row["message"], row["answer"]):
            seen = prepare(text)
            for table in ("en", "agent-en"):
                assert SCREENS[table].search(seen.text, seen.words) == plainly(table, seen.text), text


@needs_samples
def test_every_text_of_the_samples() -> None:
    checked = 0
    for text in _sample_texts():
        checked += 1
        agrees(prepare(text))
    assert checked > 1000


def _sample_texts() -> Iterator[str]:
    found = set()
    for path in (CHAT_EVENTS, HOSTILE, *sorted((SAMPLES.parent / "evaluation").glob("*.jsonl"))):
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
            found |= set(re.findall(r'"(?:content|text|message|a|b)": ("(?:[^"\\]|\\.)*")', line))
    for quoted in sorted(found):
        try:
            yield json.loads(quoted)
        except ValueError:
            continue


def test_what_an_expression_needs() -> None:
    found = needs(r"^(?:oh )?not (?:at )?all\b|\?")
    assert found.first | found.second == {Sign("not", whole=True), Sign("all", whole=True), Sign("?")}
    assert not found.at_start
    assert needs(r"^(?:work|fail)s?").at_start
    assert not needs(r"(?m)^work").at_start
    assert {s.letters for s in needs(r"un(?:clear|fair)ly").first} == {"unclearly", "unfairly"}
    assert not [p.name for p in LANGUAGES["en"] if not needs(p.source).first]


@pytest.mark.parametrize(
    ("source", "parts"),
    [
        (r"a|b", ["a", "b"]),
        (r"(?:a|b)|[|)]\||", ["(?:a|b)", r"[|)]\|", ""]),
        (r"[]|]x|(?:[^]|(]|c)", ["[]|]x", "(?:[^]|(]|c)"]),
        (r"(a)\1|b", [r"(a)\1|b"]),
        (r"(?m)^a|b", [r"(?m)^a|b"]),
    ],
)
def test_alternatives(source: str, parts: list[str]) -> None:
    assert alternatives(source) == parts


@pytest.mark.parametrize(
    "source",
    [r"(?i)wrong", r"(?i:wrong)", r"[a-z]+", r".*", r"(?:wrong)?", r"\w\d", r"(a)\1|b?", r"(?:a|)"],
)
def test_an_expression_that_cannot_be_read_is_always_tried(source: str) -> None:
    assert not needs(source).first
    pattern = Pattern("en.any", "veto", source)
    assert bool(Screen([pattern]).search("WRONG", ("WRONG",))) == bool(pattern.regex.search("WRONG"))


def test_words_are_forgotten_when_there_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(screen_module, "REMEMBERED", 3)
    screen = Screen(LANGUAGES["en"])
    for text in ("that is wrong", "one two three four five", "that is wrong"):
        seen = prepare(text)
        assert screen.search(seen.text, seen.words) == plainly("en", seen.text)
        assert len(screen._words) <= 3


def test_a_word_too_long_to_look_into_calls_for_every_pattern() -> None:
    seen = prepare("x" * 20 + "hopeless" + "x" * 20)
    assert len(seen.words[0]) > screen_module.LONGEST
    pattern = Pattern("en.any", "veto", "hopeless")
    screen = Screen([pattern])
    assert screen.search(seen.text, seen.words) == (pattern,)
    assert not screen._words
