"""Impressions and response rates in PostgreSQL: compared with a recount, in any order of the events, and bounded."""

from __future__ import annotations

import random
from itertools import permutations
from typing import Any, NamedTuple

import asyncpg
import pytest

from contracts.feedback import FeedbackImpressionsReceived, ShownTurn
from contracts.intervals import wilson
from reporting.queries.clustering import FEWEST_PEOPLE, ClusteredShare, PersonVotes, effective_size
from reporting.queries.response_rates import ResponseFigures, Sides, figures_of, rates_for_page, response_rates
from reporting.queries.selection import Filters, Project, TimeSpan
from reporting.read_models.handlers import ProjectionHandler
from reporting.read_models.store_postgres import PostgresReadModels
from servicekit.log.outcome import Outcome
from tests.support.reporting_events import START, batch, feedback, message

AT = Project("acme", "support")
SECOND = 1_000_000
ALL = TimeSpan(START, START + 1_000 * SECOND)


def shown(
    *turns: str,
    user: str = "ann",
    at: float = 0,
    agent: str = "agent-a",
    version: str | None = None,
    model: str | None = None,
    **fields: Any,
) -> Any:
    values: dict[str, Any] = {
        "event_id": f"{user}-{at}",
        "occurred_at": START + int(at * SECOND),
        "tenant": "acme",
        "project": "support",
        "conversation_id": "c1",
        "user_id": user,
        "turns": tuple(ShownTurn(turn_id=turn, agent_id=agent, agent_version=version, model=model) for turn in turns),
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
            version=choose.choice(["1", "2", None]),
            model=choose.choice(["m", "n", None]),
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


@pytest.mark.parametrize(
    "in_order",
    [
        [{"at": 1, "agent": "b"}, {"at": 2, "agent": "a"}],
        [{"agent": "a", "version": "2"}, {"agent": "b", "version": "1"}],
        [{"version": None, "model": "n"}, {"version": "1", "model": "m"}],
        [{"version": "1", "model": "n"}, {"version": "2", "model": "m"}],
        [{"model": None}, {"model": "m"}, {"model": "n"}],
    ],
    ids=["time", "agent", "no version", "version", "model"],
)
async def test_of_impressions_of_one_person_the_first_in_order_is_kept(
    read_models: asyncpg.Pool, in_order: list[dict[str, Any]]
) -> None:
    """Together or one by one, the earliest stays; of equal times, the one with the least agent, version and model."""
    first = in_order[0]
    expected = {name: first[name] for name in ("agent", "version", "model") if name in first}
    for order in permutations(in_order):
        events = [shown("t1", **one) for one in order]
        for batches in ([events], [[one] for one in events]):
            await read_models.execute("truncate impressions")
            for some in batches:
                await take(read_models, *some)
            [row] = await read_models.fetch(
                "select agent_id as agent, agent_version as version, model, occurred_at from impressions"
            )
            assert {name: row[name] for name in expected} == expected, order
            assert row["occurred_at"] == START + first.get("at", 0) * SECOND


class Pair(NamedTuple):
    conversation: str
    turn: str
    user: str


async def test_the_figures_are_those_of_a_recount(read_models: asyncpg.Pool) -> None:
    """With verdicts of the machine and of AI critics, retracted ones, replies, and people who saw none."""
    choose = random.Random(3)
    events: list[Any] = []
    agents: dict[tuple[str, str], tuple[str, str]] = {}
    seen: set[Pair] = set()
    verdicts: set[Pair] = set()
    rated: set[Pair] = set()
    kinds = ["explicit", "reaction", "rating", "retracted", "inferred", "implicit", "critic", "its rating"]
    for conversation in (f"c{number}" for number in range(12)):
        for number in range(choose.randint(1, 9)):
            turn, agent, version = f"t{number}", choose.choice(["a", "b"]), choose.choice(["1", "2"])
            agents[conversation, turn] = agent, version
            events.append(message(f"{turn}-answer", conversation=conversation, turn=turn, agent=agent, at=number,
                                  agent_version=version))  # fmt: skip
            for reader in range(12):
                pair = Pair(conversation, turn, f"p{reader}")
                name = " ".join(pair)
                if choose.random() < reader / 11:
                    seen.add(pair)
                    told = ShownTurn(turn_id=turn, agent_id=agent, agent_version=version)
                    events.append(shown(user=pair.user, at=50, conversation_id=conversation, turns=(told,)))
                if choose.random() < 0.75:
                    continue
                kind = choose.choice(kinds)
                place: dict[str, Any] = {"conversation": conversation, "turn": turn, "user": pair.user, "at": 60}
                if kind in ("critic", "its rating"):
                    place["user_type"] = "agent"
                if kind in ("rating", "its rating"):
                    events.append(feedback(name, kind="rating", rating=4, scale="polite", worst_rating=1,
                                           best_rating=5, source="rating", **place))  # fmt: skip
                elif kind == "retracted":
                    events.append(feedback(name, kind="explicit", reaction=None, **place))
                else:
                    events.append(feedback(name, kind="explicit" if kind == "critic" else kind, reaction="ok", **place))
                if kind == "rating":
                    rated.add(pair)
                if kind in ("explicit", "reaction"):
                    verdicts.add(pair)
    choose.shuffle(events)
    for first in range(0, len(events), 50):
        await take(read_models, *events[first : first + 50])

    def clustered(clusters: list[str], responded: list[str]) -> tuple[float, ...]:
        """Return total, responses, share and its interval; both lists have the cluster of each."""
        people = [PersonVotes(responded.count(name), clusters.count(name)) for name in set(clusters)]
        share = ClusteredShare(len(responded), len(clusters), effective_size(people))
        return len(clusters), len(responded), share.share or 0, *share.sure

    def expected(agent: str | None = None, version: str | None = None) -> Any:
        chosen = {turn for turn, of in agents.items() if agent in (None, of[0]) and version in (None, of[1])}
        pairs = {pair for pair in seen if pair[:2] in chosen}
        responded = {pair[:2] for pair in verdicts} & chosen
        answered = pairs & (verdicts | rated)
        turns = clustered([turn[0] for turn in chosen], [turn[0] for turn in responded])
        impressions = clustered([pair.user for pair in pairs], [pair.user for pair in answered])
        return pytest.approx([*turns, *impressions, len({pair.user for pair in pairs})])

    def found(one: ResponseFigures) -> list[float | None]:
        turns = [
            one.turns,
            one.turns_with_feedback,
            one.feedback_share,
            one.feedback_share_low,
            one.feedback_share_high,
        ]
        rate = [one.response_rate, one.response_rate_low, one.response_rate_high]
        return [*turns, one.impressions, one.responses, *rate, one.viewers]

    rates = await response_rates(read_models, AT, ALL, Filters())
    assert found(rates.totals) == expected()
    assert 0 < rates.totals.turns_with_feedback < rates.totals.turns
    assert 0 < rates.totals.responses < rates.totals.impressions
    assert rates.totals.viewers >= FEWEST_PEOPLE, "the intervals are estimated from the clusters"
    assert [one.agent_id for one in rates.by_agent] == sorted("ab", key=lambda name: -expected(name).expected[0])
    for by_agent in rates.by_agent:
        assert found(by_agent) == expected(by_agent.agent_id)
    assert {(one.agent_id, one.agent_version) for one in rates.by_agent_version} == set(agents.values())
    for by_version in rates.by_agent_version:
        assert found(by_version) == expected(by_version.agent_id, by_version.agent_version)
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


async def test_a_filter_selects_from_the_last_answers_that_were_read(read_models: asyncpg.Pool) -> None:
    """With answers of two agents in one turn, each in another order."""
    await take(
        read_models,
        *(message(f"t0 {name}", turn="t0", agent=name, agent_version=f"{name} 1", model="m", at=n)
          for n, name in enumerate(("a", "b"))),
        *(message(f"t1 {name}", turn="t1", agent=name, agent_version=f"{name} 1", model="m", at=9 + n)
          for n, name in enumerate(("b", "a"))),
        *(shown(at=20 + n, turns=(ShownTurn(turn_id=f"t{n}", agent_id=name, agent_version=f"{name} 1", model="m"),))
          for n, name in enumerate(("b", "a"))),
    )  # fmt: skip
    whole = await response_rates(read_models, AT, ALL, Filters())
    by_agent = await rates_for_page(read_models, AT, ALL, Filters(), "agent")
    by_version = await rates_for_page(read_models, AT, ALL, Filters(), "version")
    assert (by_agent.totals, by_agent.by_agent, by_agent.by_agent_version) == (whole.totals, whole.by_agent, [])
    assert (by_version.totals, by_version.by_agent, by_version.by_agent_version) == (
        whole.totals, [], whole.by_agent_version
    )  # fmt: skip
    assert [(one.agent_id, one.turns, one.impressions) for one in whole.by_agent] == [("a", 1, 1), ("b", 1, 1)]
    for one in whole.by_agent:
        for filters in (Filters(agent_id=one.agent_id), Filters(agent_version=f"{one.agent_id} 1")):
            alone = await response_rates(read_models, AT, ALL, filters)
            assert alone.by_agent == [one]
            assert alone.totals.model_dump() == one.model_dump(exclude={"agent_id"})
    assert (await response_rates(read_models, AT, ALL, Filters(model="m"))).by_agent == whole.by_agent
    # The newest answer and the newest impression are of a: nothing of b was read, and the figures say so.
    newest = await response_rates(read_models, AT, ALL, Filters(agent_id="b"), scanned=1)
    assert (newest.totals.turns, newest.totals.impressions, newest.by_agent) == (0, 0, [])
    assert (newest.turns_complete, newest.impressions_complete) == (False, False)


def test_the_interval_of_one_busy_reader_is_wide() -> None:
    """A hundred impressions of one person are as informative as one; of a hundred people, as a hundred."""
    busy = figures_of(Sides({}, {PersonVotes(50, 100): 1}))
    crowd = figures_of(Sides({}, {PersonVotes(0, 1): 50, PersonVotes(1, 1): 50}))
    assert (busy["viewers"], crowd["viewers"]) == (1, 100)
    assert (busy["response_rate_low"], busy["response_rate_high"]) == pytest.approx(tuple(wilson(0.5, 1)))
    assert crowd["response_rate_high"] - crowd["response_rate_low"] < 0.3 < 0.7
    assert busy["response_rate"] == crowd["response_rate"] == 0.5
