"""Every number of the reports equals a recount in plain Python over the announced feedback."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Iterator
from uuid import UUID

import asyncpg
import pytest

from contracts.base import NO_VERDICTS
from contracts.feedback import FeedbackCreated
from reporting.feedback.search import every
from reporting.figures.calibration import calibration
from reporting.figures.ratings import ratings
from reporting.figures.reasons import reasons
from reporting.figures.votes import Votes
from reporting.model.selection import Filters, Project, TimeSpan
from reporting.pages.overview import overview
from reporting.pages.queries.breakdown import Version, breakdown
from reporting.pages.view import View
from reporting.read_models.handlers import ProjectionHandler
from reporting.read_models.store_postgres import PostgresReadModels
from tests.support.effective_reactions import effective as effective_reactions
from tests.support.effective_reactions import reaction_to_turn
from tests.support.reporting_events import START, batch, feedback

AT = Project("acme", "support")
HOUR = 3_600


def announced(choose: random.Random) -> Iterator[FeedbackCreated]:
    """Generate feedback of two tenants, some changed, some retracted, several of one person on one turn."""
    for at in range(250):
        machine = choose.random() < 0.4
        yield feedback(
            f"f{choose.randrange(160)}" if not machine else f"m{choose.randrange(80)}",
            revision=at + 1,
            tenant=choose.choice(["acme", "acme", "acme", "globex"]),
            conversation=f"c{choose.randrange(6)}",
            turn=f"t{choose.randrange(8)}",
            user=f"u{choose.randrange(3)}",
            agent=f"a{choose.randrange(3)}",
            kind="inferred" if machine else choose.choice(["reaction", "explicit"]),
            reaction=choose.choice(["ok", "not_ok", "neutral", None]),
            confidence=choose.choice([0.7, 0.75, 0.9, 1.0]) if machine else 1.0,
            agent_version=choose.choice([None, "1", "2"]),
            tags=tuple(choose.sample(["wrong", "slow", "rude"], choose.randrange(3))),
            correction_type=choose.choice([None, "explicit", "rephrased"]) if machine else None,
            at=choose.randrange(72) * HOUR,
        )
        points = choose.choice([5, 10])
        yield feedback(
            f"e{choose.randrange(40)}",
            kind="explicit",
            reaction=choose.choice(["ok", "not_ok", "neutral"]),
            rating=choose.randint(1, points),
            worst_rating=1,
            best_rating=points,
            revision=at + 1,
            live=choose.random() < 0.8,
            conversation=f"c{choose.randrange(6)}",
            turn=f"t{choose.randrange(8)}",
            user=f"u{choose.randrange(3)}",
            agent=f"a{choose.randrange(3)}",
            agent_version=choose.choice([None, "1", "2"]),
            at=choose.randrange(72) * HOUR,
        )
        yield feedback(
            f"r{choose.randrange(60)}",
            kind="implicit",
            revision=at + 1,
            live=choose.random() < 0.8,
            conversation=f"c{choose.randrange(6)}",
            turn=f"t{choose.randrange(8)}",
            user=f"u{choose.randrange(3)}",
            agent=f"a{choose.randrange(3)}",
            agent_version=choose.choice([None, "1", "2"]),
            at=choose.randrange(72) * HOUR,
        )


def newest_of(events: Iterable[FeedbackCreated]) -> Iterable[FeedbackCreated]:
    newest: dict[UUID, FeedbackCreated] = {}
    for event in events:
        held = newest.get(event.feedback_id)
        if held is None or event.revision > held.revision:
            newest[event.feedback_id] = event
    return newest.values()


def effective(events: Iterable[FeedbackCreated]) -> list[FeedbackCreated]:
    """Return the effective feedback of AT, recounted from the announcements alone."""
    of_project = {event.feedback_id: event for event in newest_of(events) if (event.tenant, event.project) == AT}
    counting = effective_reactions(filter(None, map(reaction_to_turn, of_project.values())))
    return [of_project[one.feedback_id] for one in counting]


def votes(found: Iterable[FeedbackCreated]) -> Votes:
    counted = Counter(event.reaction for event in found)
    return Votes(counted["ok"], counted["neutral"], counted["not_ok"])


@pytest.mark.parametrize("seed", range(6))
async def test_every_number_equals_a_recount(read_models: asyncpg.Pool, seed: int) -> None:
    choose = random.Random(seed)
    events = list(announced(choose))
    # A later announcement of an id cannot be about another conversation if ids follow keys; here ids are arbitrary.
    for begin in range(0, len(events), 50):
        await ProjectionHandler(PostgresReadModels(read_models)).handle(batch(*events[begin : begin + 50]))
    all_of_them = effective(events)
    others = [one for one in newest_of(events) if one.feedback_type in NO_VERDICTS and one.value is not None]
    span = TimeSpan(START + 10 * HOUR * 1_000_000, START + 60 * HOUR * 1_000_000)
    begins = [span.start + step * 10 * HOUR * 1_000_000 for step in range(5)]
    for filters in (Filters(), Filters(agent_id="a1"), Filters(origins=("machine",)), Filters(agent_version="2")):

        def matching(found: Iterable[FeedbackCreated], filters: Filters = filters) -> list[FeedbackCreated]:
            return [
                event
                for event in found
                if span.start <= event.occurred_at < span.end
                and filters.agent_id in (None, event.agent_id)
                and (filters.origins is None or event.origin in filters.origins)
                and filters.agent_version in (None, event.agent_version)
            ]

        within = matching(all_of_them)
        listed = [row["feedback_id"] async for row in every(read_models, AT, span, filters)]
        newest_first = sorted(
            [*within, *matching(others)], key=lambda one: (one.occurred_at, one.feedback_id), reverse=True
        )
        assert listed == [event.feedback_id for event in newest_first]
        rated: dict[int | None, list[int]] = {}
        for event in [*within, *matching(others)]:
            if event.rating is not None:
                rated.setdefault(event.best_rating, []).append(event.rating)
        scales = await ratings(read_models, AT, span, filters)
        means = {scale: sum(given) / len(given) for scale, given in rated.items()}
        assert {one.best_rating: one.ratings for one in scales} == {at: len(rated[at]) for at in rated}
        assert {one.best_rating: one.mean for one in scales} == pytest.approx(means)
        counted = await breakdown(read_models, AT, span, filters, begins)
        for origin in ("user", "machine"):
            of = [event for event in within if event.origin == origin]
            assert counted.whole[origin] == votes(of)
            for number, begin in enumerate(begins):
                end = begins[number + 1] if number + 1 < len(begins) else span.end
                assert counted.steps[origin, number] == votes(e for e in of if begin <= e.occurred_at < end)
            for agent in ("a0", "a1", "a2"):
                ours = [event for event in of if event.agent_id == agent]
                assert counted.agents[origin, agent] == votes(ours)
                sparks = [v for (o, a, _), v in counted.sparks.items() if (o, a) == (origin, agent)]
                assert sum(sparks, Votes()) == votes(ours)
                for name in (None, "1", "2"):
                    expected = votes(event for event in ours if event.agent_version == name)
                    assert counted.versions[origin, Version(agent, name)] == expected
        given = Counter((tag, "tag" if e.origin == "user" else "rule") for e in within for tag in e.tags)
        given += Counter((e.correction_type, "correction_type") for e in within if e.correction_type)
        listed = (await reasons(read_models, AT, span, filters)).reasons
        assert {(one.reason, one.kind): one.total for one in listed} == given
    machine = [e for e in all_of_them if e.origin == "machine" and span.start <= e.occurred_at < span.end]
    pairs = Counter(
        (m.reaction, p.reaction)
        for m in machine
        for p in all_of_them
        if p.origin == "user" and (p.conversation_id, p.turn_id) == (m.conversation_id, m.turn_id)
    )
    figures = await calibration(read_models, AT, span)
    assert {(m, p): n for m, row in figures.confusion.items() for p, n in row.items() if n} == pairs
    shown = await overview(
        read_models, AT, View(period="all"), TimeSpan(START, START + 72 * HOUR * 1_000_000), lambda path, **_: path
    )
    assert shown.people.votes + shown.machine.votes + shown.reviews == votes(all_of_them)
