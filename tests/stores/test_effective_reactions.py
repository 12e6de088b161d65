"""The rule for effective reactions in any order and batching of announcements: views in SQL, index, and consumer."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import AsyncIterator, Hashable, Iterable, Sequence
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
import pytest_asyncio
from aiokafka import ConsumerRecord

import inference.service
from contracts.feedback import FeedbackCreated
from detector.encoders.embedder import WordLlamaEmbedder
from inference.turns.rules import STATUS_OF
from inference.turns.store import TurnIndex
from inference.turns.user_reactions import UserReactionHandler
from inference.turns.vectors import TurnVectors
from reporting.read_models.handlers import ProjectionHandler
from reporting.read_models.store_postgres import PostgresReadModels
from reporting.sql import SQL
from servicekit.db.pools import open_pool
from tests.support.effective_reactions import TurnId, TurnReaction, effective, reaction_to_turn, status_of_turns
from tests.support.reporting_events import batch, feedback

ROOT = Path(__file__).parents[2]
SCHEMA = inference.sql.SQL.schema
TURNS, TIMES = 12, 5


@pytest_asyncio.fixture
async def turn_index(own_database: str) -> AsyncIterator[Any]:
    opened = await open_pool(own_database, "inference", SCHEMA, size=2)
    yield opened
    await opened.close()


def announced(choose: random.Random) -> list[FeedbackCreated]:
    """Return announcements of some two hundred records in any order: people, reviewers, machine and replies.

    Few times and people per turn, so that many records compete, also at the same time.
    """
    found: list[FeedbackCreated] = []
    for number in range(200):
        kind = choose.choice(["reaction", "reaction", "explicit", "explicit", "review", "inferred", "implicit"])
        fields: dict[str, Any] = {
            "kind": "explicit" if kind == "review" else kind,
            "turn": f"t{choose.randrange(TURNS)}",
            "user": f"u{choose.randrange(3)}",
            "tenant": choose.choice(["acme", "acme", "globex"]),
        }
        if kind == "review":
            fields |= {"origin": "reviewer", "source": "review"}
        for revision in choose.sample(range(1, 9), choose.randrange(1, 4)):
            reaction = choose.choice(["ok", "not_ok", "neutral", None, None])
            at = choose.randrange(TIMES)
            fields["recorded"] = choose.randrange(TIMES)
            found.append(feedback(f"{kind}-{number}", revision=revision, reaction=reaction, at=at, **fields))
    choose.shuffle(found)
    return found + choose.sample(found, 20)


def at_highest_revision(events: Iterable[FeedbackCreated]) -> Iterable[FeedbackCreated]:
    return {event.feedback_id: event for event in sorted(events, key=lambda one: one.revision)}.values()


def latest(events: Iterable[FeedbackCreated]) -> list[TurnReaction]:
    return [one for event in at_highest_revision(events) if (one := reaction_to_turn(event)) is not None]


def batches(events: Sequence[FeedbackCreated], choose: random.Random) -> Iterable[Sequence[FeedbackCreated]]:
    rest = list(events)
    while rest:
        size = choose.randint(1, 60)
        yield rest[:size]
        rest = rest[size:]


def consumer() -> Any:
    """Return the module of the reference consumer, which imports nothing of this repository."""
    spec = spec_from_file_location("rlhf_consumer", ROOT / "examples" / "rlhf_consumer.py")
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def record(event: FeedbackCreated, offset: int) -> ConsumerRecord:
    value = event.model_dump_json(by_alias=True).encode()
    key = str(event.feedback_id).encode()
    return ConsumerRecord("feedback.created", 0, offset, 0, 0, key, value, None, len(key), len(value), ())


def shown(reactions: Iterable[TurnReaction]) -> set[tuple[UUID, str | None]]:
    return {(one.feedback_id, one.reaction) for one in reactions}


@pytest.mark.parametrize("seed", range(6))
async def test_reports_index_and_reference_consumer_count_what_the_rule_counts(
    read_models: Any, turn_index: Any, tmp_path: Path, seed: int
) -> None:
    choose = random.Random(seed)
    events = announced(choose)
    expected = latest(events)
    projector = ProjectionHandler(PostgresReadModels(read_models))
    reactions = UserReactionHandler(TurnIndex(turn_index, TurnVectors(WordLlamaEmbedder())))
    rewards = consumer().Rewards(str(tmp_path / "rewards.sqlite"))
    for some in batches(events, choose):
        await projector.handle(batch(*some))
        await reactions.handle(batch(*some))
        rewards.take([record(event, offset) for offset, event in enumerate(some)])

    rows = await read_models.fetch("select feedback_id, reaction from effective")
    assert {(row["feedback_id"], row["reaction"]) for row in rows} == shown(effective(expected))

    given = {(UUID(row["feedback_id"]), row["reaction"]) for row in rewards.effective()}
    rewards.close()
    assert given == shown(effective(expected))

    of_people = [one for one in effective(expected) if one.origin != "machine"]
    rows = await turn_index.fetch("select feedback_id, status from effective")
    assert {(row["feedback_id"], row["status"]) for row in rows} == {
        (one.feedback_id, STATUS_OF[str(one.reaction)]) for one in of_people
    }
    rows = await turn_index.fetch(
        "select tenant, project, conversation_id, turn_id, user_feedback_id, user_status from turns "
        "where user_status is not null"
    )
    assert {tuple(row) for row in rows} == {
        (*turn, one.feedback_id, STATUS_OF[str(one.reaction)]) for turn, one in status_of_turns(expected).items()
    }


@pytest.mark.parametrize("seed", range(3))
async def test_the_latest_of_a_turn_is_the_latest_that_stands(read_models: Any, seed: int) -> None:
    """If none stands, it is the latest retraction."""
    choose = random.Random(seed)
    events = announced(choose)
    projector = ProjectionHandler(PostgresReadModels(read_models))
    for some in batches(events, choose):
        await projector.handle(batch(*some))
    slots: defaultdict[Hashable, list[TurnReaction]] = defaultdict(list)
    changed_at: defaultdict[Hashable, int] = defaultdict(int)
    for event in at_highest_revision(events):
        if (reaction := reaction_to_turn(event)) is not None:
            # Each review has a slot of its own.
            slot = reaction.competes_in if reaction.origin == "user" else reaction.feedback_id
            slots[slot].append(reaction)
            for changed in (slot, reaction.turn):
                changed_at[changed] = max(changed_at[changed], event.recorded_at)
    standing: defaultdict[TurnId, list[tuple[bool, int, tuple[int, UUID], TurnReaction]]] = defaultdict(list)
    for slot, reactions in slots.items():
        reaction = max(reactions, key=lambda one: one.rank)
        stands = reaction.reaction is not None
        standing[reaction.turn].append((stands, 0 if stands else changed_at[slot], reaction.order, reaction))
    expected = {turn: (changed_at[turn], max(found)[-1]) for turn, found in standing.items()}
    for tenant in ("acme", "globex"):
        statement = SQL.latest_of_turns(
            tenant=tenant,
            project="support",
            conversation_id="c1",
            turn_ids=None,
            since=-1,
            after=None,
            after_turn=None,
            limit=100,
        )
        rows = await read_models.fetch(*statement)
        assert {(row["turn_id"], row["feedback_id"], row["changed_at"]) for row in rows} == {
            (turn[3], one.feedback_id, at) for turn, (at, one) in expected.items() if turn[0] == tenant
        }


def given(name: str, reaction: str | None, at: int, kind: str = "reaction", **fields: Any) -> TurnReaction:
    found = reaction_to_turn(feedback(name, kind=kind, reaction=reaction, at=at, **fields))
    assert found is not None
    return found


OK, NOT_OK = given("a", "ok", 1), given("b", "not_ok", 2)
