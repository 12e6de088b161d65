"""Explicit feedback on a run that judges old files as of the day they were written."""

from __future__ import annotations

from dataclasses import replace

from contracts.instants import parse_instant
from servicekit.clock import SystemClock
from tests.support.running_stack import exchange, running_stack


async def test_what_is_said_now_counts_for_the_day_of_the_files(postgres_url: str) -> None:
    day = "2026-01-05T00:00:00.000000Z"
    assert SystemClock().now() > parse_instant(day)
    path = "/conversations/acme/support/c1/turns/t1/feedback"
    async with (
        running_stack(postgres_url, lambda around: replace(around, judge_at=parse_instant(day))) as running,
        running.client("ann") as http,
    ):
        await running.publish(*exchange("c1", "t1"))
        for reaction in ("ok", None, "not_ok", "neutral", "ok"):
            answer = await http.post(path, json={"reaction": reaction})
            assert (answer.status_code, answer.json()["ts"]) == (202, day)
            await running.quiet()
            assert (await http.get(path)).json()["reaction"] == reaction
        assert not [one for one in running.seen if one.outcome.kind == "dead_lettered"]
