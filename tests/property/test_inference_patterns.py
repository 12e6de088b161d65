"""The screen finds the same patterns as trying every pattern."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from detector.patterns import AGENT, LANGUAGES, Pattern
from detector.patterns import screen as screen_module
from detector.patterns.screen import Screen, wider
from detector.text import Prepared, prepare
from tests.support.samples import CHAT_EVENTS, HOSTILE, SAMPLES, needs_samples
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
        assert screen.search(seen.text) == plainly(table, seen.text), (table, seen.text)


@pytest.mark.parametrize("pattern", ALL, ids=lambda p: p.name)
def test_no_text_that_a_pattern_matches_is_screened_out(pattern: Pattern) -> None:
    screen = Screen([pattern])

    @settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.from_regex(pattern.regex, fullmatch=False))
    def every(text: str) -> None:
        seen = prepare(text)
        assert bool(screen.search(seen.text)) == bool(pattern.regex.search(seen.text))

    every()


@settings(max_examples=150, deadline=None)
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
                assert SCREENS[table].search(seen.text) == plainly(table, seen.text), text


@needs_samples
def test_texts_of_the_samples() -> None:
    texts = list(_sample_texts())
    for text in random.Random(11).sample(texts, 500):
        agrees(prepare(text))


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


@pytest.mark.parametrize(
    ("source", "widened"),
    [
        (r"\bnot (?:at )?all\b|\?$", r"not (?:at )?all|\?"),
        (r"(?<!no )problem(?! at all| (?:x|y))s?", r"problems?"),
        (r"(?=a(?!b))(?<=c)d", r"d"),
        (r"[(?!x]\(?=[^\])]", r"[(?!x]\(?=[^\])]"),
        (r"confus\w{0,4}", r"confus(?s:.)*"),
        (r"a{2}b{1,}[c{2}]{,3}(?:d e){0,9}?\{1}{}", r"a*b*[c{2}]*(?:d e)*?\{1}{}"),
        (r"[\w'] [^\s]", r"(?s:.) (?s:.)"),
    ],
)
def test_what_re2_is_given(source: str, widened: str) -> None:
    assert wider(source) == widened


@pytest.mark.parametrize(
    "source", [r"(?i)wrong", r"(?i:wrong)", r"(?m)^wrong", r"(a)\1|wr", r"(?>wr)", r".*", r"(?:x|)"]
)
@pytest.mark.parametrize("text", ["WRONG", "wrong", "\nwrong", "aa", "was\ud83d wrong"])
def test_what_re2_does_not_know_is_tried(source: str, text: str) -> None:
    pattern = Pattern("en.any", "veto", source)
    assert bool(Screen([pattern]).search(text)) == bool(pattern.regex.search(text))


def test_what_re2_does_not_know_is_tried_without_a_word(capfd: pytest.CaptureFixture[str]) -> None:
    Screen([Pattern("en.any", "veto", r"(a)\1|wr"), Pattern("en.other", "veto", r"(?>wr)")])
    assert capfd.readouterr() == ("", "")


def test_little_memory_makes_it_slow_and_not_deaf(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(screen_module, "MEMORY", 1 << 20)
    screen = Screen(LANGUAGES["en"])
    for line in (DATA / "exchanges.jsonl").read_text(encoding="utf-8").splitlines()[::20]:
        seen = prepare(json.loads(line)["message"])
        assert screen.search(seen.text) == plainly("en", seen.text), seen.text
