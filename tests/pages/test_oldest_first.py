"""The feedback list and the search, oldest feedback first."""

from __future__ import annotations

import re

import asyncpg

from reporting.http.conversations import conversations_router
from reporting.pages.routes import pages_router
from servicekit.clock import FixedClock
from tests.support.reporting_client import client
from tests.support.reporting_events import START, Take, feedback

NOW = FixedClock(START + 86_400_000_000)


async def test_the_list_begins_with_the_oldest_if_asked_and_goes_on(read_models: asyncpg.Pool, take: Take) -> None:
    await take(*(feedback(f"f{n:03}", turn=f"t{n}", user=f"u{n:03}", at=n) for n in range(70)))
    async with client([pages_router(read_models, NOW)]) as http:
        text = (await http.get("/dashboard/feedback")).text
        seen: list[str] = []
        address = re.search(r'href="([^"]*)">Oldest first</a>', text)
        while address is not None:
            text = (await http.get(address[1].replace("&amp;", "&"))).text
            assert '" aria-current="true">Oldest first</a>' in text
            seen += re.findall(r'class="who"[^>]*>(u\d+)</a>', text)
            address = re.search(r'rel="next" href="([^"]*)">Newer</a>', text)
        assert seen == [f"u{n:03}" for n in range(70)]


async def test_the_search_goes_from_the_oldest_to_the_newest(read_models: asyncpg.Pool, take: Take) -> None:
    await take(*(feedback(f"f{n}", turn=f"t{n}", at=n) for n in range(5)))
    async with client([conversations_router(read_models, NOW)]) as http:
        path, oldest = "/conversations/acme/support/feedback/search", {"sort": "oldest", "limit": 3}
        first = (await http.post(path, json=oldest)).json()
        then = {**oldest, "cursor": first["next_cursor"]}
        second = (await http.post(path, json=then)).json()
        times = [row["ts"] for row in (*first["items"], *second["items"])]
        assert (times, len(set(times))) == (sorted(times), 5)
        assert (await http.post(path, json={**then, "sort": "newest"})).status_code == 400
