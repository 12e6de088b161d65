"""For any text, a verdict is valid, depends on the neighbourhood only, and takes a limited time."""

from __future__ import annotations

import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from detector.detector import Detector
from detector.model import NEIGHBOURHOOD, Message, Neighbourhood, Role, Verdict

MINUTE = 60_000_000
PHRASES = [
    "that's wrong", "thanks", "no, I meant", "never mind", "what about", "```x = 1```", "<div>hi</div>", "🙂", "不对",
    "danke", "?", "https://a.example", "> quoted", "I'll take it", "Привет", "שלום", "\u202e", "\x00", "\ud83d",
]  # fmt: skip
texts = st.one_of(st.text(max_size=200), st.lists(st.sampled_from(PHRASES), max_size=6).map(" ".join))
times = st.integers(min_value=-(10**16), max_value=10**16)


@pytest.fixture(scope="module")
def detector() -> Detector:
    return Detector.default()


@st.composite
def messages(draw: st.DrawFn, role: Role | None = None) -> Message:
    roles: tuple[Role, ...] = ("human", "agent")
    chosen = draw(st.sampled_from(roles)) if role is None else role
    number = draw(st.integers(0, 10**6))
    agent = "bot" if chosen == "agent" else None
    return Message(f"m{number}", f"t{number}", "who", chosen, agent, draw(texts), draw(times))


items = st.builds(
    Neighbourhood, st.lists(messages(), max_size=NEIGHBOURHOOD).map(tuple), messages("human")
)  # fmt: skip


def well_formed(item: Neighbourhood, verdict: Verdict) -> bool:
    agents = {m.message_id for m in item.before if m.role == "agent"}
    return (
        0 <= verdict.confidence <= 1
        and (verdict.correction_type is None) == (verdict.feedback != "rejected")
        and (verdict.target is None or verdict.target.message_id in agents)
        and (not verdict.emitted or verdict.reaction is not None)
        and (verdict.reaction == "not_ok") == (verdict.feedback == "rejected")
    )


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(batch=st.lists(items, max_size=4))
def test_any_batch_gives_well_formed_verdicts_the_same_alone_and_together(
    detector: Detector, batch: list[Neighbourhood]
) -> None:
    together = detector.judge(batch)
    assert all(well_formed(item, verdict) for item, verdict in zip(batch, together, strict=True))
    assert together == [detector.judge([item])[0] for item in batch]
    assert together[::-1] == detector.judge(batch[::-1])


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(item=items, older=st.lists(messages(), min_size=1, max_size=5))
def test_messages_before_the_neighbourhood_never_matter(
    detector: Detector, item: Neighbourhood, older: list[Message]
) -> None:
    filler = tuple(
        Message(f"f{n}", f"f{n}", "bot", "agent", "bot", f"filler {n}", 0)
        for n in range(NEIGHBOURHOOD - len(item.before))
    )
    full = Neighbourhood(filler + item.before, item.message)
    longer = Neighbourhood(tuple(older) + full.before, item.message)
    assert detector.judge([full]) == detector.judge([longer])


HUGE = [
    "no " * 33_000,
    "that's wrong " * 8_000,
    "a" * 100_000,
    "```" + "x = 1\n" * 20_000,
    "<b>" * 33_000,
    "不对" * 50_000,
    "🙂" * 100_000,
    ("what do you mean, " * 6_000),
    "\n> " * 33_000,
    "ab ¿ не שלום 你好 " * 6_000,
]


@pytest.mark.parametrize("text", HUGE, ids=range(len(HUGE)))
def test_a_hundred_kilobytes_are_judged_in_well_under_a_second(detector: Detector, text: str) -> None:
    before = (
        Message("a", "a", "ann", "human", None, text, 0),
        Message("b", "a", "bot", "agent", "bot", text[::-1], MINUTE),
    )
    started = time.process_time()
    verdict = detector.judge([Neighbourhood(before, Message("c", "c", "ann", "human", None, text, 2 * MINUTE))])[0]
    assert time.process_time() - started < 0.5
    assert len(verdict.user_said) <= 10_000


def test_ten_thousand_turns_cost_no_more_than_a_neighbourhood(detector: Detector) -> None:
    history = tuple(
        Message(
            f"{n:06}", f"{n}", "x", "agent" if n % 2 else "human", "bot" if n % 2 else None, f"turn {n}", n * MINUTE
        )
        for n in range(20_000)
    )
    started = time.process_time()
    verdict = detector.judge([Neighbourhood(history, Message("z", "z", "ann", "human", None, "that's wrong", 0))])[0]
    assert time.process_time() - started < 0.5
    assert verdict.target is not None
    assert verdict.target.turn_id == "19999"


def test_a_clock_that_goes_backwards_is_no_silence(detector: Detector) -> None:
    before = (Message("b", "b", "bot", "agent", "bot", "It is noon.", 10**15),)
    verdict = detector.judge([Neighbourhood(before, Message("c", "c", "ann", "human", None, "thanks!", 0))])[0]
    assert verdict.feedback == "accepted"
