"""Impressions of the thumbs widget, in Chromium: one beacon for what became visible, and none for anything else."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest_asyncio
from starlette.types import Receive, Scope, Send

from tests.support.chromium import needs_chromium, opened
from tests.support.running_stack import RunningStack, exchange, running_stack
from tests.support.served import served

pytestmark = needs_chromium
THUMBS = (
    '<agent-feedback-thumbs tenant="acme" project="support" conversation="%s" turn="%s" %s></agent-feedback-thumbs>'
)
BELOW = '<div style="height: 5000px"></div>'


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def stack(postgres_url: str) -> AsyncIterator[RunningStack]:
    async with running_stack(postgres_url) as running:
        yield running


@asynccontextmanager
async def shop(stack: RunningStack, browser: Any, html: str) -> AsyncIterator[tuple[Any, list[tuple[str, Any]]]]:
    """Open a page of another site with the widget; yield it with the beacons that it sends: path and turns."""
    beacons: list[tuple[str, Any]] = []

    async def site(scope: Scope, receive: Receive, send: Send) -> None:
        body = f'<!doctype html><title>shop</title><body><script src="{url}/widget.js"></script>{html}'
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/html")]})
        await send({"type": "http.response.body", "body": body.encode()})

    def note(request: Any) -> None:
        if request.method == "POST":
            beacons.append((request.url.removeprefix(url), json.loads(request.post_data)["turn_ids"]))

    async with served(site) as here, served(stack.app(origins=[here])) as url, opened(browser) as (page, complaints):
        page.on("request", note)
        await page.goto(f"{here}/")
        yield page, beacons
        assert complaints == []


async def signed_in(page: Any, token: str = "ann") -> None:
    await page.evaluate(
        "token => document.querySelectorAll('agent-feedback-thumbs').forEach((one) => one.token = token)", token
    )


def beacon(page: Any) -> Any:
    """Wait for the response to a beacon."""
    return page.expect_response(lambda answer: answer.url.endswith("/impressions") and answer.status == 202)


async def rows(stack: RunningStack, *conversations: str) -> list[tuple[str, ...]]:
    await stack.quiet()
    found = await stack.rows("select conversation_id, turn_id, user_id from reporting.impressions order by 1, 2, 3")
    return [tuple(row) for row in found if row["conversation_id"] in conversations]


async def test_what_is_visible_is_reported_once_and_what_is_not_is_not(stack: RunningStack, browser: Any) -> None:
    for turn in ("t1", "t2", "below", "hidden", "off"):
        await stack.publish(*exchange("shown", turn))
    await stack.publish(*exchange("other", "t1"))
    await stack.quiet()
    html = (
        THUMBS % ("shown", "t1", "impressions")
        + THUMBS % ("shown", "t2", "impressions")
        + THUMBS % ("shown", "t1", "impressions")  # a second time on the same page
        + THUMBS % ("shown", "hidden", "impressions hidden")
        + THUMBS % ("shown", "off", "")
        + BELOW
        + THUMBS % ("shown", "below", "impressions")
        + THUMBS % ("other", "t1", "impressions")
    )
    path = "/conversations/acme/support/%s/impressions"
    async with shop(stack, browser, html) as (page, beacons):
        async with beacon(page):
            await signed_in(page)
        assert beacons == [(path % "shown", ["t1", "t2"])]
        assert await rows(stack, "shown", "other") == [("shown", "t1", "ann"), ("shown", "t2", "ann")]
        # A change of the element makes it look again, and what was reported is not reported again.
        await page.evaluate("document.querySelector('agent-feedback-thumbs').labels = {ok: 'Gut'}")
        async with page.expect_response(lambda answer: "/other/" in answer.url and answer.request.method == "POST"):
            await page.evaluate("document.querySelectorAll('agent-feedback-thumbs')[5].scrollIntoView()")
        assert sorted(beacons[1:]) == [(path % "other", ["t1"]), (path % "shown", ["below"])]
    assert await rows(stack, "shown", "other") == [
        ("other", "t1", "ann"),
        *(("shown", turn, "ann") for turn in ("below", "t1", "t2")),
    ]


async def test_another_person_and_another_turn_are_reported_too(stack: RunningStack, browser: Any) -> None:
    await stack.publish(*exchange("people", "t1"), *exchange("people", "t2"))
    await stack.quiet()
    async with shop(stack, browser, THUMBS % ("people", "t1", "impressions")) as (page, beacons):
        async with beacon(page):
            await signed_in(page, "ann")
        async with beacon(page):
            await signed_in(page, "reviewer")
        async with beacon(page):
            await page.evaluate("document.querySelector('agent-feedback-thumbs').turn = 't2'")
        assert [turns for _, turns in beacons] == [["t1"], ["t1"], ["t2"]]
    assert await rows(stack, "people") == [
        ("people", "t1", "ann"), ("people", "t1", "rita"), ("people", "t2", "rita"),
    ]  # fmt: skip


async def test_a_page_that_goes_to_the_background_reports_at_once(stack: RunningStack, browser: Any) -> None:
    await stack.publish(*exchange("left", "t1"))
    await stack.quiet()
    hide = """() => {
        // The time for which further turns are collected never ends; when it begins, the page is hidden.
        window.setTimeout = () => {
            queueMicrotask(() => {
                Object.defineProperty(document, "visibilityState", {value: "hidden"});
                document.dispatchEvent(new Event("visibilitychange", {bubbles: true}));
            });
            return 1;
        };
        document.querySelector("agent-feedback-thumbs").token = "ann";
    }"""
    async with shop(stack, browser, THUMBS % ("left", "t1", "impressions")) as (page, beacons):
        async with beacon(page):
            await page.evaluate(hide)
        assert [turns for _, turns in beacons] == [["t1"]]
    assert await rows(stack, "left") == [("left", "t1", "ann")]
