"""The read models in PostgreSQL: stored rows, effective reactions, and the outcomes of a batch."""

from __future__ import annotations

from typing import Any
from uuid import NAMESPACE_OID, UUID, uuid5

import asyncpg
import pytest

from agent_feedback_kit.answers import Label
from contracts.erasure import Person
from contracts.feedback import FeedbackErased, FeedbackSessionCreated
from contracts.instants import DAY
from reporting.figures.counts import totals
from reporting.read_models.erasure import ReportingErasures
from reporting.read_models.generation import Generation
from reporting.read_models.handlers import ProjectionHandler
from reporting.read_models.rollups import Rollups
from reporting.read_models.store_postgres import PostgresReadModels
from servicekit.clock import SystemClock
from servicekit.db.database import Database
from servicekit.log.outcome import Outcome
from servicekit.log.records import Coordinates, RawRecord, Received
from tests.support.reporting_events import START, batch, feedback, message


@pytest.fixture
def projector(read_models: asyncpg.Pool) -> ProjectionHandler:
    return ProjectionHandler(PostgresReadModels(read_models))


def counts(
    conversations: int = 0, user: int = 0, machine: int = 0, ok: int = 0, not_ok: int = 0, neutral: int = 0
) -> dict[str, int]:
    return {
        "conversations": conversations,
        "total": user + machine,
        "user": user,
        "machine": machine,
        "reviewer": 0,
        "ok": ok,
        "not_ok": not_ok,
        "neutral": neutral,
    }


async def test_a_thumb_up_counts_once(projector: ProjectionHandler, read_models: asyncpg.Pool) -> None:
    thumb = feedback("f1", reaction="ok")
    assert await projector.handle(batch(thumb, thumb)) == [Outcome.STORED, Outcome.UNCHANGED]
    assert await projector.handle(batch(thumb)) == [Outcome.UNCHANGED]
    assert await totals(read_models) == counts(conversations=1, user=1, ok=1)


async def test_a_batch_is_one_call_to_the_database(read_models: Database) -> None:
    answered = [message("a", at=1, agent="agent-a", turn="t"), feedback("f", at=2, turn="t", agent_message_id="a")]
    queries: list[Any] = []
    async with read_models.acquire() as connection:
        projector = ProjectionHandler(PostgresReadModels(connection))
        await projector.handle(batch(message("q", turn="t")))  # the connection learns the types of the columns
        with connection.query_logger(queries.append):
            await projector.handle(batch(*answered))
    assert len(queries) == 1
    assert await read_models.fetchval("select question_message_id from feedbacks") == "q"


async def test_a_reply_is_kept_and_counts_nowhere(projector: ProjectionHandler, read_models: Database) -> None:
    said = feedback("f1", kind="implicit", revision=2, text="And in May?")
    assert await projector.handle(batch(said, said)) == [Outcome.STORED, Outcome.UNCHANGED]
    assert await projector.handle(batch(feedback("f1", kind="implicit", text="And?"))) == [
        Outcome.ignored("superseded")
    ]
    assert await totals(read_models) == counts()
    await Rollups(read_models, SystemClock()).catch_up(0, 0)
    assert await read_models.fetchval("select count(*) from rollups") == 0
    assert await read_models.fetchval("select count(*) from stale_hours") == 0
    assert await read_models.fetchval("select text from live_feedback(false)") == "And in May?"


async def test_a_deleted_reply_is_shown_no_more(projector: ProjectionHandler, read_models: asyncpg.Pool) -> None:
    await projector.handle(batch(feedback("f1", kind="implicit", text="And in May?")))
    await projector.handle(batch(feedback("f1", kind="implicit", revision=2, live=False)))
    assert await read_models.fetchval("select count(*) from live_feedback(false)") == 0


async def test_of_two_versions_of_one_moment_the_one_logged_later_is_kept_in_any_order(
    projector: ProjectionHandler, read_models: asyncpg.Pool
) -> None:
    earlier, later = batch(*(message("m1", content=content, at=100) for content in ("earlier", "later")))
    for order in ((earlier, later), (later, earlier)):
        await read_models.execute("truncate messages")
        for received in order:
            await projector.handle([received])
        assert await read_models.fetchval("select content from messages") == "later"


async def test_outcomes_stand_in_the_batchs_order(projector: ProjectionHandler) -> None:
    mixed = batch(
        feedback("f1", kind="implicit", revision=2),
        feedback("f1", kind="implicit"),
        message("m1"),
        feedback("f2", revision=2, reaction="ok"),
        message("m1"),
        feedback("f2", revision=1, reaction="ok"),
    )
    mixed[4] = mixed[2]
    assert await projector.handle(mixed) == [
        Outcome.STORED,
        Outcome.ignored("superseded"),
        Outcome.STORED,
        Outcome.STORED,
        Outcome.UNCHANGED,
        Outcome.ignored("superseded"),
    ]


async def test_the_longest_ids_of_the_widest_characters_fit(
    projector: ProjectionHandler, read_models: asyncpg.Pool
) -> None:
    wide = "".join(chr(0x1F300 + at) for at in range(256))
    await projector.handle(
        batch(
            message("m" + wide[1:], conversation="c" + wide[1:], turn="t" + wide[1:], sender=wide),
            feedback("f1", conversation="c" + wide[1:], turn="t" + wide[1:], user=wide, agent_message_id="a"),
        )
    )
    assert await totals(read_models) == counts(conversations=1, user=1, ok=1)


def tombstone(key: str, revision: int) -> Received[FeedbackErased]:
    raw = RawRecord(Coordinates("feedback.created", 0, 9), key.encode(), None, (), 5_000_000)
    return Received(FeedbackErased(UUID(key), revision), raw)


async def test_a_forgotten_feedback_is_gone_and_stays_gone(
    projector: ProjectionHandler, read_models: asyncpg.Pool
) -> None:
    gone, other = feedback("f1", reaction="ok", revision=7), feedback("f2", user="bob", reaction="ok")
    await projector.handle(batch(gone, other))
    assert await projector.handle([tombstone(str(gone.feedback_id), 8)]) == [Outcome.STORED]
    assert await totals(read_models) == counts(conversations=1, user=1, ok=1)
    await projector.handle(batch(gone))
    assert await totals(read_models) == counts(conversations=1, user=1, ok=1)
    await projector.handle(batch(feedback("f1", reaction="ok", revision=9)))
    assert await totals(read_models) == counts(conversations=1, user=2, ok=2)


async def test_a_late_tombstone_leaves_what_was_said_after_it(
    projector: ProjectionHandler, read_models: asyncpg.Pool
) -> None:
    later = feedback("f1", reaction="ok", revision=9)
    await projector.handle(batch(later))
    await projector.handle([tombstone(str(later.feedback_id), 8)])
    assert await totals(read_models) == counts(conversations=1, user=1, ok=1)


async def test_an_erasure_deletes_the_persons_words_in_overruled_verdicts_during_a_rebuild_too(
    projector: ProjectionHandler, read_models: Database
) -> None:
    overruled: dict[str, Any] = {"kind": "inferred", "reaction": None, "overruled_reaction": "not_ok", "text": "No."}
    await projector.handle(batch(*(feedback(f"m{user}", user=user, **overruled) for user in ("ann", "bob"))))
    async with read_models.acquire() as connection:
        generation = Generation(connection)
        await generation.begin()
        await connection.execute("insert into feedbacks_rebuilt select * from feedbacks")
        assert await ReportingErasures(read_models).erase({Person("acme", "ann"): START + DAY}) == 1
        assert await connection.fetchval("select string_agg(user_id, '') from feedbacks") == "bob"
        await connection.execute("insert into erasures values ('acme', 'ann', 'r1', $1)", START + DAY)
        await generation.switch()
        assert await connection.fetchval("select string_agg(user_id, '') from feedbacks") == "bob"


async def test_a_batch_whose_last_write_fails_keeps_nothing(
    projector: ProjectionHandler, read_models: asyncpg.Pool
) -> None:
    held = feedback("f1", reaction="ok")
    await projector.handle(batch(held))
    mixed: list[Received[Any]] = [*batch(message("m1"), feedback("f2", user="bob", reaction="ok"))]
    mixed.append(tombstone(str(held.feedback_id), 8))
    mixed += batch(rated("s1", "positive"))
    await read_models.execute("alter table sessions add constraint none check (false)")
    with pytest.raises(asyncpg.CheckViolationError):
        await projector.handle(mixed)
    assert await totals(read_models) == counts(conversations=1, user=1, ok=1)
    assert await read_models.fetchval("select count(*) from messages") == 0
    await read_models.execute("alter table sessions drop constraint none")
    assert await projector.handle(mixed) == [Outcome.STORED] * 4
    assert await read_models.fetchval("select user_id from effective") == "bob"


def rated(name: str, label: Label) -> FeedbackSessionCreated:
    return FeedbackSessionCreated(
        event_id=name,
        occurred_at=START,
        tenant="acme",
        id=uuid5(NAMESPACE_OID, name),
        session_id_opaque="0" * 64,
        user_id_or_null="ann",
        recorded_at=START,
        label=label,
        turn_count_at_end=1,
        source="api_end",
    )


async def test_a_field_of_every_kind_is_kept_as_it_was_announced(
    projector: ProjectionHandler, read_models: asyncpg.Pool
) -> None:
    fields: dict[str, Any] = {
        "intent": "hours",
        "track_id": "t",
        "agent_version": "7",
        "emoji": "👍",
        "tags": ("a", "b"),
    }
    await projector.handle(batch(feedback("f1", confidence=0.75, **fields)))
    (row,) = await read_models.fetch("select * from effective")
    assert {name: row[name] for name in fields} == fields | {"tags": ["a", "b"]}
    assert (row["confidence"], row["value"], row["revision"]) == (0.75, 0.6, 1)


async def test_noting_stale_hours_does_not_read_the_project_for_each_turn(
    projector: ProjectionHandler, read_models: asyncpg.Pool
) -> None:
    """Without statistics, a plan that is made once might use the project's index."""
    said = [feedback(f"m{n}", kind="inferred", turn=f"t{n}") for n in range(300)]
    said += [feedback(f"e{n}", kind="explicit", turn=f"t{n}", user="eve") for n in range(40)]
    await projector.handle(batch(*said))
    async with read_models.acquire() as connection, connection.transaction():
        await connection.execute("update feedbacks set revision = revision + 1 where origin = 'user'")
        read = await connection.fetchval(
            "select seq_tup_read + idx_tup_fetch from pg_stat_xact_user_tables where relname = 'feedbacks'"
        )
    assert 0 < read <= 5 * len(said)  # never once for each of the forty
