"""Entries of the access log: who sees which, in what order, and what is noted once."""

from __future__ import annotations

from itertools import permutations
from types import SimpleNamespace

import asyncpg
import pytest

from contracts.feedback import FeedbackErasureRequested
from reporting.access.log import AccessLog
from reporting.read_models.handlers import TrainingChoiceHandler
from servicekit.db.database import ErasureLedger
from servicekit.web.auth import Caller
from servicekit.web.projects import ProjectSet
from tests.support.feedback_events import choice, received
from tests.support.hand_clock import HandClock


@pytest.mark.parametrize(
    ("places", "seen"),
    [
        (["*/*"], ["theirs", "tenant", "sales", "second", "first"]),
        (["acme/*"], ["tenant", "sales", "second", "first"]),
        (["acme/support"], ["second", "first"]),
        (["acme/sales", "acme/support"], ["sales", "second", "first"]),
        (["globex/*"], ["theirs"]),
        (["globex/sales"], []),
    ],
)
async def test_the_newest_entries_about_ones_own_projects_come_first(
    read_models: asyncpg.Pool, places: list[str], seen: list[str]
) -> None:
    log = AccessLog(read_models, clock := HandClock())
    for tenant, project, about in (
        ("acme", "support", "first"),
        ("acme", "support", "second"),
        ("acme", "sales", "sales"),
        ("acme", None, "tenant"),
        ("globex", "support", "theirs"),
    ):
        await log.note("ann", tenant, project, "changed rule", about)
        clock.forward(0 if about == "first" else 1)
    caller = ProjectSet.parse(places).member("t", frozenset())
    assert [one["about"] for one in await log.newest(caller)] == seen


async def test_reads_of_a_conversation_are_noted_once_an_hour_and_changes_every_time(
    read_models: asyncpg.Pool,
) -> None:
    log = AccessLog(read_models, clock := HandClock())  # 1000 seconds after a full hour
    for seconds, actor, about in (
        (0, "ann", "c1"),
        (2_599, "ann", "c1"),
        (0, "bob", "c1"),
        (0, "ann", "c2"),
        (1, "ann", "c1"),
    ):
        clock.forward(seconds)
        await log.note(actor, "acme", "support", "read", about)
        await log.note(actor, "acme", "sales", "read", about)
    support = Caller("t", "acme", "support")
    found = [(one["actor"], one["about"], one["at"]) for one in await log.newest(support)]
    hour = 3_600_000_000
    assert found == [
        ("ann", "c1", hour),
        ("ann", "c2", hour - 1_000_000),
        ("bob", "c1", hour - 1_000_000),
        ("ann", "c1", 1_000_000_000),
    ]
    for _ in range(2):
        await log.note("ann", "acme", "support", "exported", "csv")
    assert [one["action"] for one in await log.newest(support)][:2] == ["exported", "exported"]


async def test_an_erasure_is_noted_once_at_its_own_time_without_the_person(read_models: asyncpg.Pool) -> None:
    log = AccessLog(read_models, HandClock())
    values = {"event_id": "e1", "occurred_at": 5_000_000, "tenant": "acme", "user_id": "secret"}
    for request, by in (("r1", "ada"), ("r1", "ada"), ("r2", None)):
        await log.note_request(
            FeedbackErasureRequested.model_validate({**values, "request_id": request, "requested_by": by}),
            "erased",
            request,
        )
    assert [tuple(row) for row in await log.newest(Caller("t", "acme"))] == [
        (5_000_000, "acme", None, "unknown", "erased", "r2"),
        (5_000_000, "acme", None, "ada", "erased", "r1"),
    ]


async def test_choices_about_training_leave_the_latest_in_any_order_and_one_entry_each(
    read_models: asyncpg.Pool,
) -> None:
    events = [received(choice(at=1)), received(choice(at=2, allowed=True)), received(choice("bob", at=1))]
    log = AccessLog(read_models, HandClock())
    handler = TrainingChoiceHandler(ErasureLedger(read_models), SimpleNamespace(access_log=log))  # type: ignore[arg-type]
    for order in permutations(events):
        await read_models.execute("truncate training_choices")
        for event in order:
            await handler.handle([event])
        rows = await read_models.fetch("select user_id, training_allowed from training_choices order by user_id")
        assert [tuple(row) for row in rows] == [("ann", True), ("bob", False)]
    noted = await log.newest(Caller("t", "acme"))
    assert [(entry["actor"], entry["action"]) for entry in noted] == [("unknown", "changed training")] * 2
