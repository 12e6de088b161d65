"""Impressions of the thumbs widget, in Chromium: one beacon for what became visible, and none for anything else."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import pytest_asyncio
from starlette.types import Receive, Scope, Send

from servicekit import Caller
from tests.support.chromium import needs_chromium, opened
from tests.support.running_stack import RunningStack, Tokens, exchange, running_stack
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


class Issuer:
    """Issuer of the site's tokens: each token has another number."""

    def __init__(self) -> None:
        self.person = "ann"
        self.issued = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.issued += 1
        body = json.dumps({"token": f"{self.person}.{self.issued}"})
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"application/json")]})
        await send({"type": "http.response.body", "body": body.encode()})


class Numbered(Tokens):
    """Tokens whose number does not matter."""

    async def authenticate(self, token: str) -> Caller | None:
        return await super().authenticate(token.partition(".")[0])


@asynccontextmanager
async def shop(
    stack: RunningStack, browser: Any, html: str, issuer: Issuer | None = None, *, expected: str | None = None
) -> AsyncIterator[tuple[Any, list[tuple[str, Any]]]]:
    """Open a page of another site with the widget; yield it with the beacons that it sends: path and turns.

    The console may have messages that contain `expected`.
    """
    beacons: list[tuple[str, Any]] = []

    async def site(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] == "/feedback-token":
            await (issuer or Issuer())(scope, receive, send)
            return
        body = f'<!doctype html><title>shop</title><body><script src="{url}/widget.js"></script>{html}'
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/html")]})
        await send({"type": "http.response.body", "body": body.encode()})

    def note(request: Any) -> None:
        if request.method == "POST":
            beacons.append((request.url.removeprefix(url), json.loads(request.post_data)["turn_ids"]))

    async with (
        served(site) as here,
        served(stack.app(Numbered(), [here])) as url,
        opened(browser) as (page, complaints),
    ):
        page.on("request", note)
        await page.goto(f"{here}/")
        yield page, beacons
        assert [line for line in complaints if expected is None or expected not in line] == []


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


FROM_ISSUER = 'impressions token-url="/feedback-token"'


async def test_what_a_script_adds_takes_one_request_and_one_token(stack: RunningStack, browser: Any) -> None:
    turns = [f"t{number:02}" for number in range(20)]
    for turn in turns:
        await stack.publish(*exchange("numbered", turn))
    await stack.quiet()
    add = """([one, turns]) => {
        const template = document.createElement("template");
        template.innerHTML = one;
        document.body.append(...turns.map((turn) => {
            const made = template.content.firstElementChild.cloneNode();
            made.setAttribute("turn", turn);
            return made;
        }));
    }"""
    issuer = Issuer()
    async with shop(stack, browser, "<style>body { font-size: 0 }</style>", issuer) as (page, beacons):
        async with beacon(page):
            await page.evaluate(add, [THUMBS % ("numbered", "", FROM_ISSUER), turns])
        assert beacons == [("/conversations/acme/support/numbered/impressions", turns)]
        assert issuer.issued == 1, "each token of the issuer is another one"
    assert await rows(stack, "numbered") == [("numbered", turn, "ann") for turn in turns]


async def test_turns_that_two_people_see_shortly_after_each_other_are_reported_apart(
    stack: RunningStack, browser: Any
) -> None:
    await stack.publish(*exchange("shared", "t1"), *exchange("shared", "t2"))
    await stack.quiet()
    add = """html => document.body.insertAdjacentHTML("beforeend", html)"""
    issuer = Issuer()
    async with shop(stack, browser, "", issuer) as (page, beacons):
        async with page.expect_response("**/feedback-token"):
            await page.evaluate(add, THUMBS % ("shared", "t1", FROM_ISSUER))
        issuer.person = "reviewer"
        await page.evaluate(add, THUMBS % ("shared", "t2", FROM_ISSUER))
        await page.wait_for_function(
            "performance.getEntriesByType('resource').filter((one) => /impr/.test(one.name)).length == 2"
        )
        assert [turns for _, turns in beacons] == [["t1"], ["t2"]]
    assert await rows(stack, "shared") == [("shared", "t1", "ann"), ("shared", "t2", "rita")]


@pytest.mark.parametrize(
    "signs_in",
    [
        "document.querySelector('agent-feedback-thumbs').tokenUrl = '/feedback-token'",
        "document.body.innerHTML = document.body.innerHTML",
        "document.body.append(document.querySelector('agent-feedback-thumbs').cloneNode());"
        "document.querySelector('agent-feedback-thumbs').tokenUrl = '/feedback-token'",
        "document.body.append(document.querySelector('agent-feedback-thumbs').cloneNode())",
    ],
    ids=[
        "the-element-is-told",
        "the-elements-are-replaced",
        "an-element-is-added-and-another-is-told",
        "an-element-is-added-and-none-is-told",
    ],
)
async def test_a_token_is_not_shared_with_the_next_person(stack: RunningStack, browser: Any, signs_in: str) -> None:
    await stack.publish(*exchange("switched", "t1"))
    await stack.quiet()
    issuer = Issuer()
    async with shop(stack, browser, THUMBS % ("switched", "t1", FROM_ISSUER), issuer) as (page, _):
        await page.wait_for_function("performance.getEntriesByType('resource').some((one) => /impr/.test(one.name))")
        issuer.person = "reviewer"
        async with beacon(page) as sent:
            await page.evaluate(signs_in)
        assert (await (await sent.value).request.all_headers())["authorization"] == "Bearer reviewer.2"


HOVERED = """<style>
    .answer > * { display: block; %s } .answer:hover > *, .answer:focus-within > * { opacity: 1; visibility: visible }
    .answer { border: 20px solid; width: 300px }
</style><div class="answer" tabindex="0">%s</div>"""


@pytest.mark.parametrize("look", ["mouse", "keyboard"])
@pytest.mark.parametrize("style", ["opacity: 0", "visibility: hidden", "opacity: 0; transition: opacity .2s step-end"])
async def test_thumbs_that_appear_when_pointed_at_are_seen_then(
    stack: RunningStack, browser: Any, style: str, look: str
) -> None:
    for turn in ("plain", "hovered"):
        await stack.publish(*exchange("hover", turn))
    await stack.quiet()
    html = HOVERED % (style, THUMBS % ("hover", "hovered", "impressions")) + THUMBS % ("hover", "plain", "impressions")
    async with shop(stack, browser, html) as (page, beacons):
        async with beacon(page):
            await signed_in(page)
        assert [turns for _, turns in beacons] == [["plain"]]
        async with beacon(page):
            if look == "mouse":
                await page.mouse.move(15, 15)  # the border of the answer
            else:
                await page.keyboard.press("Tab")
        assert [turns for _, turns in beacons] == [["plain"], ["hovered"]]


AGAIN = """<script>
    window.later = [];
    window.delays = [];
    const setTimer = window.setTimeout;
    window.setTimeout = (call, delay) => {
        if (![undefined, 5_000, 20_000, 60_000].includes(delay)) return setTimer(call, delay);
        delays.push(delay);
        later.push(call);
        return 1;
    };
</script>"""
"""Keeps the looks that follow on failures until `later.shift()()`."""


async def test_an_answer_that_the_log_gets_later_is_reported_then(stack: RunningStack, browser: Any) -> None:
    await stack.publish(*exchange("behind", "t1"))
    await stack.quiet()
    html = AGAIN + "".join(THUMBS % ("behind", turn, "impressions") for turn in ("t1", "t2"))
    async with shop(stack, browser, html) as (page, beacons):
        async with beacon(page):
            await signed_in(page)
        await page.wait_for_function("later.length === 2")
        assert await rows(stack, "behind") == [("behind", "t1", "ann")]
        await stack.publish(*exchange("behind", "t2"))
        await stack.quiet()
        async with beacon(page):
            await page.evaluate("later.splice(0).forEach((look) => look())")
        assert [turns for _, turns in beacons] == [["t1", "t2"]] * 2
    assert await rows(stack, "behind") == [("behind", "t1", "ann"), ("behind", "t2", "ann")]


async def test_a_report_that_always_fails_is_dropped(stack: RunningStack, browser: Any) -> None:
    await stack.publish(*exchange("known", "t1"))
    await stack.quiet()
    html = AGAIN + THUMBS % ("lost", "t1", "impressions")
    path = "/conversations/acme/support/%s/impressions"
    async with shop(stack, browser, html, expected="404") as (page, beacons):
        await signed_in(page)
        for _ in range(3):
            await page.wait_for_function("later.length === 1")
            async with page.expect_response(lambda answer: answer.status == 404):
                await page.evaluate("later.shift()()")
        await page.evaluate("document.querySelector('agent-feedback-thumbs').labels = {}")  # looks again
        async with beacon(page):
            await page.evaluate(
                "html => document.body.insertAdjacentHTML('beforeend', html)",
                (THUMBS % ("known", "t1", "impressions")),
            )
            await signed_in(page)
        assert beacons == [(path % "lost", ["t1"])] * 4 + [(path % "known", ["t1"])]
        assert await page.evaluate("delays") == [5_000, 20_000, 60_000]


async def test_a_token_that_never_comes_holds_up_no_other(stack: RunningStack, browser: Any) -> None:
    await stack.publish(*exchange("stuck", "t1"), *exchange("stuck", "t2"))
    await stack.quiet()
    html = "".join(THUMBS % ("stuck", turn, "impressions") for turn in ("t1", "t2"))
    never = """() => {
        const [first, second] = document.querySelectorAll("agent-feedback-thumbs");
        first.getToken = () => new Promise(() => {});
        second.token = "ann";
    }"""
    async with shop(stack, browser, html) as (page, beacons):
        async with beacon(page):
            await page.evaluate(never)
        assert [turns for _, turns in beacons] == [["t2"]]
