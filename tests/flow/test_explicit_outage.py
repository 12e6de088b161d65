"""Explicit feedback while the registry is behind, the log is full, or the log is down."""

from __future__ import annotations

import asyncio

import asyncpg
import pytest

from tests.support.running_stack import exchange, running_stack
from tests.support.waits import PATIENCE_SECONDS


async def test_what_cannot_be_taken_now_is_to_be_sent_again(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FEEDBACK_TURN_SECONDS", "1")
    async with running_stack(postgres_url) as running, running.client("ann") as http:
        path = "/conversations/acme/support/c1/turns/{}/feedback"
        await running.publish(*exchange("c1", "known"))
        await running.quiet()
        assert (await http.post(path.format("known"), json={"reaction": "ok"})).status_code == 202
        assert (await http.post(path.format("nowhere"), json={"reaction": "ok"})).status_code == 404

        database = await asyncpg.connect(running.database_url)
        try:
            async with database.transaction():
                # Readers pass, writers wait, so the registry cannot continue.
                await database.execute("lock table feedback.messages in exclusive mode")
                await running.publish(*exchange("c1", "new"))
                for turn in ("new", "nowhere"):
                    behind = await http.post(path.format(turn), json={"reaction": "ok"})
                    assert (behind.status_code, behind.headers["retry-after"]) == (503, "5")
                assert (await http.post(path.format("known"), json={"reaction": "ok"})).status_code == 202
        finally:
            await database.close()
        await running.quiet()
        assert (await http.post(path.format("new"), json={"reaction": "ok"})).status_code == 202
        assert (await http.post(path.format("nowhere"), json={"reaction": "ok"})).status_code == 404

        [turns] = [sub for sub in running.stack.services["feedback"].subscriptions if sub.group == "feedback"]
        consumer = turns.consumer
        assert consumer is not None
        with monkeypatch.context() as held:
            held.setattr(consumer, "resume", lambda *_: None)
            consumer.pause(*consumer.assignment())
            # A pending fetch still returns the next record, but none after it.
            await running.publish(*exchange("c1", "on its way"))
            assert (await http.post(path.format("on%20its%20way"), json={"reaction": "ok"})).status_code in (202, 503)
            async with asyncio.timeout(PATIENCE_SECONDS):
                while turns.at_work:
                    await asyncio.sleep(0.02)
            await running.publish(*exchange("c1", "unread"))
            assert not turns.at_work
            for turn in ("unread", "nowhere"):
                assert (await http.post(path.format(turn), json={"reaction": "ok"})).status_code == 503
        await running.quiet()
        assert (await http.post(path.format("unread"), json={"reaction": "ok"})).status_code == 202

        await running.quiet()
        before = running.stack.produced["feedback.explicit.received"]
        running.backpressure.close()
        full = await http.post(path.format("known"), json={"reaction": "not_ok"})
        assert full.status_code == 429
        assert int(full.headers["retry-after"]) > 0
        assert running.stack.produced["feedback.explicit.received"] == before
