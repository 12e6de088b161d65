"""Impressions and response rates in PostgreSQL: compared with a recount, in any order of the events, and bounded."""

from __future__ import annotations

import random
from typing import Any, NamedTuple

import asyncpg
import pytest

from contracts.feedback import FeedbackImpressionsReceived, ShownTurn
from contracts.intervals import wilson
from reporting.queries.response_rates import ClusterCount, ResponseFigures, figures_of, response_rates
from reporting.queries.selection import Filters, Project, TimeSpan
from reporting.read_models.handlers import ProjectionHandler
from reporting.read_models.store_postgres import PostgresReadModels
from servicekit.log.outcome import Outcome
from tests.support.reporting_events import START, batch, feedback, message

AT = Project("acme", "support")
SECOND = 1_000_000
ALL = TimeSpan(START, START + 1_000 * SECOND)


def shown(*turns: str, user: str = "ann", at: float = 0, agent: str = "agent-a", **fields: Any) -> Any:
    values: dict[str, Any] = {
        "event_id": f"{user}-{at}",
        "occurred_at": START + int(at * SECOND),
        "tenant": "acme",
        "project": "support",
        "conversation_id": "c1",
        "user_id": user,
        "turns": tuple(ShownTurn(turn_id=turn, agent_id=agent) for turn in turns),
    }
    return FeedbackImpressionsReceived(**(values | fields))


async def take(pool: asyncpg.Pool, *events: Any) -> Any:
    return await ProjectionHandler(PostgresReadModels(pool)).handle(batch(*events))


async def test_the_outcome_says_if_an_event_added_or_changed_anything(read_models: asyncpg.Pool) -> None:
    later, first = shown("t1", "t2", at=9), shown("t1", at=5)
    assert await take(read_models, later) == [Outcome.STORED]
    assert await take(read_models, later, first) == [Outcome.UNCHANGED, Outcome.STORED]
    assert await take(read_models, later, first, shown("t1", at=5, event_id="again")) == [Outcome.UNCHANGED] * 3
    twice = (shown("t3"), shown("t3", event_id="again"))
    assert await take(read_models, *twice) == [Outcome.STORED, Outcome.UNCHANGED]


async def test_the_rows_are_the_same_in_any_order_and_number_of_deliveries(read_models: asyncpg.Pool) -> None:
    choose = random.Random(7)
    events = [
        shown(
            *choose.sample(["t1", "t2", "t3", "t4"], choose.randint(1, 4)),
            user=choose.choice(["ann", "bob"]),
            at=choose.randrange(5),
            agent=choose.choice(["agent-a", "agent-b"]),
            tenant=choose.choice(["acme", "globex"]),
            conversation_id=choose.choice(["c1", "c2"]),
        )
        for _ in range(40)
    ]
    pairs = {(one.tenant, one.conversation_id, turn.turn_id, one.user_id) for one in events for turn in one.turns}
    found = set()
    for order in range(6):
        await read_models.execute("truncate impressions")
        delivered = random.Random(order).choices(events, k=60) + events
        random.Random(order).shuffle(delivered)
        while delivered:
            size = random.Random(len(delivered)).randint(1, 9)
            await take(read_models, *delivered[:size])
            del delivered[:size]
        rows = await read_models.fetch("select * from impressions order by slot")
        found.add(tuple(map(tuple, rows)))
    assert (len(found), len(rows)) == (1, len(pairs))


class Pair(NamedTuple):
    conversation: str
    turn: str
    user: str


async def test_the_figures_are_those_of_a_recount(read_models: asyncpg.Pool) -> None:
    """With verdicts of the machine, replies, retracted ones, and a person without an impression."""
    choose = random.Random(3)
    events: list[Any] = []
    agents: dict[tuple[str, str], tuple[str, str]] = {}
    seen: set[Pair] = set()
    given: set[Pair] = set()
    for conversation in ("c1", "c2", "c3"):
        for number in range(8):
            turn, agent, version = f"t{number}", choose.choice(["a", "b"]), choose.choice(["1", "2"])
            agents[conversation, turn] = agent, version
            events.append(message(f"{turn}-answer", conversation=conversation, turn=turn, agent=agent, at=number,
                                  agent_version=version))  # fmt: skip
            for user in ("ann", "bob", "cy"):
                pair = Pair(conversation, turn, user)
                name = " ".join(pair)
                if choose.random() < 0.6:
                    seen.add(pair)
                    told = ShownTurn(turn_id=turn, agent_id=agent, agent_version=version)
                    events.append(shown(user=user, at=50, conversation_id=conversation, turns=(told,)))
                kind = choose.choice(["explicit", "reaction", "retracted", "inferred", "implicit", "rating", ""])
                place: dict[str, Any] = {"conversation": conversation, "turn": turn, "user": user, "at": 60}
                if kind == "rating":
                    events.append(feedback(name, kind="rating", rating=4, scale="polite", worst_rating=1,
                                           best_rating=5, source="rating", **place))  # fmt: skip
                elif kind:
                    retracted = kind == "retracted"
                    events.append(feedback(name, kind="explicit" if retracted else kind,
                                           reaction=None if retracted else "ok", **place))  # fmt: skip
                if kind in ("explicit", "reaction"):
                    given.add(pair)
                elif kind == "rating":
                    given.add(pair._replace(user=f"{user} rated"))
    choose.shuffle(events)
    for event in events:
        await take(read_models, event)

    rated = {Pair(*pair[:2], pair.user.removesuffix(" rated")) for pair in given if pair.user.endswith(" rated")}
    verdicts = {pair for pair in given if not pair.user.endswith(" rated")}

    def expected(agent: str | None = None, version: str | None = None) -> tuple[int, ...]:
        chosen = {turn for turn, of in agents.items() if agent in (None, of[0]) and version in (None, of[1])}
        pairs = {pair for pair in seen if pair[:2] in chosen}
        responded = {pair[:2] for pair in verdicts} & chosen
        answered = {pair for pair in pairs if pair in verdicts or pair in rated}
        return len(chosen), len(responded), len(pairs), len({pair.user for pair in pairs}), len(answered)

    def found(figures: ResponseFigures) -> tuple[int, ...]:
        return (figures.turns, figures.turns_with_feedback, figures.impressions, figures.viewers, figures.responses)

    rates = await response_rates(read_models, AT, ALL, Filters())
    assert found(rates.totals) == expected()
    assert min(expected()) > 0 and expected()[1] < expected()[0] and expected()[4] < expected()[2]
    assert {one.agent_id: found(one) for one in rates.by_agent} == {name: expected(name) for name in "ab"}
    assert {(one.agent_id, one.agent_version): found(one) for one in rates.by_agent_version} == {
        (agent, version): expected(agent, version) for agent in "ab" for version in "12"
    }
    filtered = await response_rates(read_models, AT, ALL, Filters(agent_id="a", agent_version="2"))
    assert found(filtered.totals) == expected("a", "2")


async def test_a_window_is_by_the_answers_and_by_the_impressions_times(read_models: asyncpg.Pool) -> None:
    await take(
        read_models,
        *(message(f"a{n}", turn=f"t{n}", agent="agent-a", at=n) for n in range(3)),
        shown("t0", "t1", "t2", at=2),
        shown("t0", at=1),
    )
    for span, turns, impressions in (
        (TimeSpan(START, START + 2 * SECOND), 2, 1),
        (TimeSpan(START + 1, START + 2 * SECOND + 1), 2, 3),
        (TimeSpan(START + 3 * SECOND, START + 9 * SECOND), 0, 0),
    ):
        found = await response_rates(read_models, AT, span, Filters())
        assert (found.totals.turns, found.totals.impressions) == (turns, impressions)
    assert (found.totals.feedback_share, found.totals.response_rate, found.by_agent) == (None, None, [])


async def test_the_newest_rows_are_counted_and_the_answer_says_so(read_models: asyncpg.Pool) -> None:
    await take(read_models, *(message(f"a{n}", turn=f"t{n}", agent=f"agent-{n}", at=n) for n in range(4)))
    await take(read_models, *(shown(f"t{n}", at=n, agent=f"agent-{n}") for n in range(4)))
    for scanned, complete in ((3, False), (4, False), (5, True)):
        found = await response_rates(read_models, AT, ALL, Filters(), scanned=scanned)
        assert (found.turns_complete, found.impressions_complete) == (complete, complete)
        newest = {f"agent-{n}" for n in range(4)[-scanned:]}
        assert {one.agent_id for one in found.by_agent} == newest
        assert found.totals.impressions == len(newest)


async def test_a_turn_counts_for_the_agent_of_its_last_answer(read_models: asyncpg.Pool) -> None:
    await take(read_models, message("a1", agent="draft", at=1), message("a2", agent="final", at=2))
    found = await response_rates(read_models, AT, ALL, Filters())
    assert [(one.agent_id, one.turns) for one in found.by_agent] == [("final", 1)]


def test_the_interval_of_one_busy_reader_is_wide() -> None:
    """A hundred impressions of one person are as informative as one; of a hundred people, as a hundred."""
    busy = figures_of((), [ClusterCount("a", None, "ann", 100, 50)])
    crowd = figures_of((), [ClusterCount("a", None, f"p{n}", 1, n % 2) for n in range(100)])
    assert (busy["viewers"], crowd["viewers"]) == (1, 100)
    assert (busy["response_rate_low"], busy["response_rate_high"]) == pytest.approx(tuple(wilson(0.5, 1)))
    assert crowd["response_rate_high"] - crowd["response_rate_low"] < 0.3 < 0.7
    assert busy["response_rate"] == crowd["response_rate"] == 0.5
