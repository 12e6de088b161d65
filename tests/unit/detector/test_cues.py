"""Conditions of the rules: each of its parts decides for some message."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from detector import cues
from detector.evidence import Evidence
from detector.patterns import agent_hits, human_hits, kinds
from detector.text import prepare

OPENED = "It opened in 1932."
ASKED = "when did it open"
PROPOSAL = "Would you like me to book it?"
CONFIRMATION = "Okay, two seats at noon?"
CLOSING = "Is there anything else I can help you with?"
QUESTION = "Which colour would you like?"


def evidence(message: str, answer: str = OPENED, request: str = ASKED, **facts: Any) -> Evidence:
    language = facts.get("language", "en")
    found = human_hits(prepare(message), language)
    texts = (prepare(message), prepare(request), prepare(answer))
    return Evidence(*texts, found, kinds(found), kinds(agent_hits(prepare(answer), language)), **facts)


def holding(condition: Callable[[Evidence], bool], *cases: tuple[Evidence, bool]) -> list[Any]:
    return [pytest.param(condition, *case, id=f"{condition.__name__}{n}") for n, case in enumerate(cases)]


SIX, SEVEN = "when is the old lift open", "when is the old lift open today"
LONG = "when is the old lift by the harbour open today"


@pytest.mark.parametrize(
    ("asked", "answer", "message", "resent"),
    [
        (SIX, "The lift opens at", SIX, True),  # cut off
        (SIX, "It opens at nine.", SIX, False),  # complete, and short enough to be typed again
        (SEVEN, "It opens at nine.", SEVEN, True),
        (SEVEN, "Sorry, I could not load the page.", SEVEN, False),
        (SIX, "Which lift do you mean?", SIX, True),
        (SIX, "The lift opens at", SEVEN, False),
        (SIX, "It opens at nine.", f"{SIX} again, please", True),
        (SIX, "It opens at nine.", f"once more, {SIX} again", True),
        (SIX, "Sorry, I can't do that.", f"{SIX} again", False),
        (SIX, "It opens at nine.", f"{SEVEN} again", False),
        (f"{SIX} again", "It opens at", f"{SIX} again", True),
        ("", "It opens at", "", False),
    ],
)
def test_a_request_is_resent_word_for_word_or_again(asked: str, answer: str, message: str, resent: bool) -> None:
    assert cues.is_resent(evidence(message, answer, asked)) is resent


@pytest.mark.parametrize(
    ("condition", "seen", "holds"),
    [
        *holding(
            cues.is_decline,
            (evidence("no", PROPOSAL), True),
            (evidence("no, sorry", PROPOSAL), True),
            (evidence("no, the red one", PROPOSAL), False),
            (evidence("not now, maybe later today", PROPOSAL), True),
            (evidence("not now, but is it open?", PROPOSAL), False),
            (evidence(f"not now, {'very ' * 8}late", PROPOSAL), False),
            (evidence("no", OPENED), False),
            (evidence("no", f"{CLOSING} {PROPOSAL}"), False),
        ),
        *holding(
            cues.is_agreement,
            (evidence("yes, please", PROPOSAL), True),
            (evidence("yes", CONFIRMATION), True),
            (evidence("yes", OPENED), False),
            (evidence("yes", f"{CLOSING} {PROPOSAL}"), False),
            (evidence("no", PROPOSAL), False),
            (evidence("yes, but is it open?", PROPOSAL), False),
            (evidence("no thanks", PROPOSAL), False),
            (evidence(f"yes, {'very ' * 8}soon", PROPOSAL), False),
        ),
        *holding(
            cues.is_closing,
            (evidence("no", CLOSING), True),
            (evidence("bye", CLOSING), True),
            (evidence("no", OPENED), False),
            (evidence("no, I want a tea", CLOSING), False),
            (evidence("no, what about the tunnel?", CLOSING), False),
            (evidence("the tunnel", CLOSING), False),
            (evidence(f"no, {'very ' * 8}fine", CLOSING), False),
        ),
        *holding(
            cues.is_acknowledgement,
            (evidence("ok"), True),
            (evidence("ok", QUESTION), False),
            (evidence("ok", PROPOSAL), False),
            (evidence("the tunnel"), False),
        ),
        *holding(
            cues.is_puzzled,
            (evidence("what do you mean?"), True),
            (evidence("thanks, what do you mean?"), False),
            (evidence("the tunnel?"), False),
        ),
        *holding(
            cues.is_after_silence,
            (evidence("no", silence=30 * 60 * 1_000_000), False),
            (evidence("no", silence=30 * 60 * 1_000_000 + 1), True),
        ),
        *holding(
            cues.is_plain_approval,
            (evidence("thanks a lot"), True),
            (evidence(f"thanks {'very ' * 9}"), True),
            (evidence(f"thanks {'very ' * 10}"), False),
            (evidence("thanks, but is it open?"), False),
            (evidence("the tunnel"), False),
        ),
        *holding(
            cues.asks_on,
            (evidence("Geht das auch am Freitag?", language="de"), True),
            (evidence("Geht das auch am Freitag?", "Möchten Sie das Doppelzimmer?", language="de"), False),
            (evidence("Das ist falsch, geht das auch am Freitag?", language="de"), False),
            (evidence("Das geht auch am Freitag", language="de"), False),
            (evidence("is it open on Friday?"), False),
        ),
        *holding(
            cues.is_bare_no,
            (evidence("no"), True),
            (evidence("no no"), True),
            (evidence("no, the tunnel"), False),
            (evidence("no thanks"), False),
            (evidence("no", QUESTION), False),
            (evidence("no", CLOSING), False),
            (evidence("no", PROPOSAL), False),
            (evidence("the tunnel"), False),
            (evidence("不", language="zh"), True),
        ),
        *holding(
            cues.has_request_with_addition,
            (evidence("I want cheap gaming laptops", "Three laptops.", "laptops"), True),
            (evidence("I want laptops", "Three laptops.", "laptops"), False),
            (evidence("I want cheap gaming laptops", "Three of them.", "laptops"), False),
            (evidence("I want cheap gaming laptops", "Three laptops.", "tablets"), False),
            (evidence("I want cheap gaming laptops", "Which laptops?", "laptops"), False),
            (evidence("I want cheap gaming laptops", "Sorry, I can't find laptops.", "laptops"), False),
            (evidence("cheap gaming laptops", "Three laptops.", "laptops"), False),
        ),
        *holding(
            cues.is_taste_of_answer,
            (evidence("I don't like it"), True),
            (evidence("I don't like that"), True),
            (evidence("I don't like harbours"), False),
            (evidence("I don't like harbours", "How about the harbour walk?"), True),
            (evidence("I don't like how they show it"), False),
        ),
        *holding(
            cues.is_correction_of_detail,
            (evidence("No, on Saturday", CONFIRMATION), True),
            (evidence("No, Saturday", CONFIRMATION), False),
            (evidence("No, no problem at all", CONFIRMATION), False),
            (evidence("No, not yet, wait", CONFIRMATION), False),
            (evidence("on Saturday please", CONFIRMATION), False),
            (evidence("No, on Saturday", OPENED), False),
        ),
        *holding(
            cues.has_strong_rejection,
            (evidence("thanks, but that's wrong"), True),
            (evidence("too expensive"), False),
            (evidence("thanks, that's too expensive"), False),
        ),
        *holding(
            cues.is_new_topic,
            (evidence("how do magnets work?", similarity=0.19), True),
            (evidence("how do magnets work?", similarity=0.2), False),
            (evidence("how do magnets work?", answer_similarity=0.2), False),
            (evidence("magnets?"), False),
            (evidence("thanks, how do magnets work?"), False),
            (evidence("how do magnets work?", QUESTION), False),
            (evidence("how do magnets open?"), False),
            (evidence("what happened in 1932?"), False),
            (evidence("hamster food"), True),
            (evidence("this hamster"), False),
            (evidence("red hamster eats this food", similarity=0.0), True),
            (evidence(f"hamster {'very ' * 8}food"), False),
        ),
        *holding(
            cues.may_reword,
            (evidence("please say the year"), True),
            (evidence("the year"), False),
            (evidence("please say the year", request="it opens"), False),
            (evidence("thanks, please say the year"), False),
            (evidence("please say the year", QUESTION), False),
            (evidence("please say the year", CONFIRMATION), False),
            (evidence("please say if in 1932"), False),
            (evidence("open in 1950?", "None.", "open in 1940?"), False),
            (evidence(LONG, "It is", LONG), False),
            (evidence("bitte das Jahr sagen", language="de"), False),
        ),
        *holding(
            cues.has_cues_against,
            (evidence("hmm, not my taste, boring"), True),
            (evidence("boring colours"), False),
        ),
        *holding(
            cues.has_cue_for,
            (evidence("lovely colours"), True),
            (evidence("lovely, but boring"), False),
            (evidence("lovely colours", QUESTION), False),
            (evidence("the tunnel"), False),
        ),
    ],
)
def test_conditions(condition: Callable[[Evidence], bool], seen: Evidence, holds: bool) -> None:
    assert condition(seen) is holds


@pytest.mark.parametrize(
    ("text", "task"),
    [
        ("add a map", True),
        ("ok, now please add a map", True),
        ("ok, now then please add a map", False),
        ("add", True),
        ("the map", False),
        ("please", False),
        ("", False),
    ],
)
def test_up_to_three_words_may_lead_to_a_task(text: str, task: bool) -> None:
    assert cues.begins_with_task(text) is task
