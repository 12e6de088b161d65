"""Lists of dead letters and of parked events behind the counts of the health panel."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import asyncpg
import pytest

from reporting.dashboard.routes import pages_router
from reporting.dashboard.unprocessed import Unprocessed, unprocessed_router
from servicekit.clock import FixedClock
from tests.support.reporting_client import client
from tests.support.reporting_events import START, Take, feedback

LETTERS, PARKED = "/dashboard/dead-letters", "/dashboard/parked"


def record(group: str, reason: str, offset: int, **fields: str) -> dict[str, str]:
    at = f"chat.message.ingested:0:{offset}"
    ids = {"tenant": "acme", "project": "support", "event_id": f"e{offset}", "message_id": ""}
    place = {
        "group": group,
        "record": at,
        "cause": at,
        "reason": reason,
        "detail": "",
        "noted_at": "2026-09-21T13:33:20Z",
    }
    return {**place, **ids, **fields}


ROWS: dict[str, Sequence[dict[str, str]]] = {
    "dead letters": [
        record("chat_bridge", "invalid_event", 3, detail="content: is missing", message_id="<m&1>"),
        record("inference", "invalid_event", 3),
        record("chat_bridge", "in_the_future", 2),
        record("chat_bridge", "not_json", 1, tenant="", project="", event_id=""),
    ],
    "parked": [record("chat_bridge", "original_unknown", 9, message_id="never-came")],
}


async def listed(kind: str) -> Sequence[dict[str, str]]:
    return ROWS[kind]


async def broken(_: str) -> Sequence[dict[str, str]]:
    raise OSError


async def shown(path: str, unprocessed: Unprocessed | None = listed, token: str = "all") -> tuple[int, str]:
    async with client([unprocessed_router(unprocessed)], token) as http:
        answer = await http.get(path)
        return answer.status_code, answer.text


async def test_each_dead_letter_has_its_position_its_reason_and_the_way_to_its_events() -> None:
    status, text = await shown(LETTERS)
    assert status == 200
    assert "chat.message.ingested:0:3" in text
    assert "invalid event: content: is missing" in text
    assert 'href="/dashboard/where?tenant=acme&amp;project=support&amp;id=e2"' in text
    assert 'id=%3Cm%261%3E&amp;of=message">Message &lt;m&amp;1&gt;</a>' in text
    assert "<span>no project" in text


async def test_a_count_leads_to_the_records_of_its_group_and_reason() -> None:
    _, text = await shown(LETTERS)
    counts = re.findall(r'href="(/dashboard/dead-letters\?[^"]*)">(\d+)</a>', text)
    assert len(counts) == 4
    for address, count in counts:
        _, narrowed = await shown(address.replace("&amp;", "&"))
        assert len(re.findall(r"<li><div", narrowed)) == int(count), address
    _, of_reason = await shown(f"{LETTERS}?reason=invalid_event")
    assert len(re.findall(r"<li><div", of_reason)) == 2
    assert "<script>" not in (await shown(f"{LETTERS}?reason=<script>"))[1]


async def test_parked_events_name_the_message_that_they_wait_for() -> None:
    status, text = await shown(PARKED)
    assert (status, "Message never-came" in text, "in_the_future" in text) == (200, True, False)


@pytest.mark.parametrize("token", ["acme", "globex"])
async def test_a_tenants_caller_sees_no_record_of_anybody(token: str) -> None:
    for path in (LETTERS, PARKED):
        status, text = await shown(path, token=token)
        assert (status, "chat.message.ingested" in text) == (404, False)


async def test_alone_broken_or_empty_the_page_says_so() -> None:
    assert "agent-feedback dlq list" in (await shown(LETTERS, None))[1]
    assert (await shown(LETTERS, broken))[0] == 503

    async def nothing(_: str) -> Sequence[dict[str, str]]:
        return []

    assert "No record has become a dead letter." in (await shown(LETTERS, nothing))[1]


async def test_the_panel_leads_to_the_lists(read_models: asyncpg.Pool, take: Take) -> None:
    async def health() -> dict[str, Any]:
        return {"lag": {}, "parked": 1, "dead_letters": {"not_json": 2, "<b>": 1}}

    await take(feedback("f1"))
    async with client([pages_router(read_models, FixedClock(START), health)]) as http:
        text = (await http.get("/")).text
    assert '<a href="/dashboard/parked">1</a>' in text
    assert '<a href="/dashboard/dead-letters">3</a>' in text
    assert '<a href="/dashboard/dead-letters?reason=not_json">2</a>' in text
    assert '<a href="/dashboard/dead-letters?reason=%3Cb%3E">1</a>' in text
