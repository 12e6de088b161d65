"""Every response of a language model is a valid answer or is rejected; the examples reach every rejection."""

from __future__ import annotations

import json
from typing import Any

import hypothesis
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chat_completions.completion import WrongAnswer
from inference.llm_gate.answer import LlmAnswer, answer_in

SOUND = {
    "is_feedback": st.booleans(),
    "reaction": st.sampled_from(["ok", "not_ok", "neutral"]),
    "confidence": st.floats(0, 1),
    "about": st.none() | st.integers(1, 4),
    "reason": st.sampled_from(["explicit", "rephrased", "abandonment", "thanks", "continuation", "none"]),
}
JUNK: st.SearchStrategy[object] = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.just([]) | st.just({})
)


def _completion(content: object) -> bytes:
    return json.dumps({"choices": [{"message": {"content": content}}]}).encode()


@st.composite
def bodies(draw: st.DrawFn) -> tuple[bytes, int]:
    """Generate the body of a completion, mostly almost valid, and the number of answers shown."""
    shown = draw(st.integers(0, 3))
    kind = draw(st.sampled_from(["sound", "one field wrong", "field missing", "field too many", "no answer", "bytes"]))
    if kind == "bytes":
        return draw(st.binary(max_size=40)), shown
    if kind == "no answer":
        return json.dumps(draw(JUNK | st.just({"choices": []}))).encode(), shown
    answer: dict[str, Any] = {name: draw(values) for name, values in SOUND.items()}
    name = draw(st.sampled_from(sorted(SOUND)))
    if kind == "one field wrong":
        answer[name] = draw(JUNK)
    elif kind == "field missing":
        del answer[name]
    elif kind == "field too many":
        answer["more"] = draw(JUNK)
    return _completion(json.dumps(answer)), shown


def outcome(case: tuple[bytes, int]) -> LlmAnswer | str:
    body, shown = case
    try:
        return answer_in(body, shown)
    except WrongAnswer as error:
        return str(error)


@given(bodies())
@settings(max_examples=300)
def test_whatever_comes_back_is_an_answer_in_its_bounds_or_wrong(case: tuple[bytes, int]) -> None:
    found = outcome(case)
    if isinstance(found, LlmAnswer):
        assert 0 <= found.confidence <= 1
        assert found.about is None or 1 <= found.about <= case[1]


@pytest.mark.parametrize(
    "met",
    ["no JSON", "no chat completion", "not as the schema says", "about an answer that was not shown", "an answer",
     "about the last answer shown"],
)  # fmt: skip
def test_the_examples_reach_every_outcome(met: str) -> None:
    """The budget and the strategy are the same as above: a branch without examples is not tested."""

    def reached(case: tuple[bytes, int]) -> bool:
        found = outcome(case)
        if isinstance(found, str):
            return found == met
        return met == "an answer" or (met == "about the last answer shown" and found.about == case[1])

    hypothesis.find(bodies(), reached, settings=settings(max_examples=300, derandomize=True, database=None))


@pytest.mark.parametrize("shown", [1, 2, 3])
def test_an_answer_is_about_one_of_those_shown(shown: int) -> None:
    answer = {"is_feedback": True, "reaction": "ok", "confidence": 0.9, "reason": "thanks"}
    for about in range(1, shown + 1):
        assert answer_in(_completion(json.dumps(answer | {"about": about})), shown).about == about
    for about in (0, shown + 1):
        with pytest.raises(WrongAnswer):
            answer_in(_completion(json.dumps(answer | {"about": about})), shown)
