"""Ends of sessions on backends in memory: what is stored, counted, announced and deleted."""

from __future__ import annotations

from typing import Any

from agent_feedback_kit.sessions.backend import MemoryBackend
from agent_feedback_kit.sessions.record import SessionFeedbackRecord, opaque
from feedback import sessions
from servicekit.clock import SystemClock
from tests.support.hand_clock import HandClock

DAY = 86_400


class Turns:
    """Turn registry whose conversation `c-1` has three turns, two of them in the project `support`; all are of bob."""

    async def count(self, tenant: str, project: str | None, conversation_id: str, user_id: str) -> tuple[int, bool]:
        assert (tenant, conversation_id) == ("acme", "c-1")
        return 3 if project is None else 2, user_id != "bob"


class Intake:
    """Sessions with their stored ratings, and the number of announcements that they asked for."""

    def __init__(self) -> None:
        self.stored, self.announced, self.clock = MemoryBackend(), 0, HandClock()
        given: Any = (Turns(), self.stored, self.stored, self._announce, self.clock)
        self.sessions = sessions.Sessions(*given, seconds=5, days=2)

    def _announce(self) -> None:
        self.announced += 1

    async def end(
        self, user: str = "bob", *, project: str | None = None, speaks_for_others: bool = False, **changes: Any
    ) -> None:
        given = sessions.GivenEnd(**{"feedback": "positive", "memory_mode": "synced", **changes})
        await self.sessions.end("acme", project, "c-1", user, given, speaks_for_others=speaks_for_others)

    @property
    async def kept(self) -> list[SessionFeedbackRecord]:
        return await self.stored.alist_by_session(opaque("c-1"), tenant="acme")


async def test_a_rating_is_stored_with_the_turns_of_its_project_or_of_all() -> None:
    for project, turns in ((None, 3), ("support", 2)):
        intake = Intake()
        await intake.end(project=project, feedback="negative", source="cli_end")
        [kept] = await intake.kept
        said = (kept.turn_count_at_end, kept.label, kept.source, kept.user_id_or_null)
        assert said == (turns, "negative", "cli_end", "bob")
        assert intake.announced == 1


async def test_a_thread_of_others_is_rated_only_by_who_speaks_for_others() -> None:
    intake = Intake()
    await intake.end("ann")
    assert (await intake.kept, intake.announced) == ([], 0)
    await intake.end("ann", speaks_for_others=True)
    assert [one.user_id_or_null for one in await intake.kept] == ["ann"]


async def test_only_who_speaks_for_others_adds_ratings_under_keys() -> None:
    intake = Intake()
    for key in ("k1", "k2", None):
        await intake.end(idempotency_key=key)
    assert {record.idempotency_key for record in await intake.kept} == {None}, "the store keeps one per end"
    for key in ("k1", "k2", "k1", "k2"):
        await intake.end(idempotency_key=key, speaks_for_others=True)
    assert len({record.idempotency_key for record in await intake.kept} - {None}) == 2


async def test_ratings_of_incognito_sessions_are_in_no_store_but_count_for_all_together() -> None:
    intake = Intake()
    await intake.end(memory_mode="incognito")
    assert (await intake.kept, intake.announced) == ([], 0)
    await intake.end()
    await intake.end("ann", speaks_for_others=True)
    count = intake.sessions.count
    asked = [await count("acme", "c-1", user) for user in (None, "bob", "ann", "eve")]
    assert asked == [3, 1, 1, 0]
    assert [await count("globex", "c-1"), await count("acme", "c-2")] == [0, 0]


async def test_a_purge_deletes_incognito_ratings_after_their_days_and_nothing_that_is_stored() -> None:
    intake = Intake()
    intake.clock.forward((SystemClock().now() - intake.clock.now()) / 1_000_000)
    await intake.end(memory_mode="incognito")
    await intake.end()
    for later, left in ((DAY, 2), (DAY - 60, 2), (120, 1)):
        intake.clock.forward(later)
        await intake.sessions.purge()
        assert await intake.sessions.count("acme", "c-1") == left
