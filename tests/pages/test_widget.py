"""The thumbs widget in Debian's Chromium, with all services in one process."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest
import pytest_asyncio
from starlette.types import Receive, Scope, Send

from servicekit.web.auth import Caller
from tests.support.chromium import expect, needs_chromium, opened, picture
from tests.support.running_stack import RunningStack, Tokens, exchange, running_stack
from tests.support.served import served

MARKUP = "<img src=x onerror=\"document.title='taken over'\"> & <b>ünï</b>"


pytestmark = needs_chromium


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def stack(postgres_url: str) -> AsyncIterator[RunningStack]:
    async with running_stack(postgres_url) as running:
        yield running


async def test_vote_change_say_why_reload_and_take_back(stack: RunningStack, browser: Any) -> None:
    async with served(stack.app()) as url, opened(browser) as (page, complaints):
        await page.goto(f"{url}/widget")
        await page.get_by_label("Access token").fill("all")
        await picture(page, "1-way-in")
        await page.get_by_role("button", name="Use it").click()
        complaints.clear()  # a browser reports the 401 that brought up the form
        await page.get_by_role("button", name="Start a conversation").click()
        first = page.locator("agent-feedback-thumbs").first
        good, bad = first.get_by_role("button", name="Good answer"), first.get_by_role("button", name="Bad answer")
        held = page.locator(".held").first

        await expect(good).to_have_attribute("aria-pressed", "false")
        await good.focus()
        await page.keyboard.press("Space")
        await expect(good).to_have_attribute("aria-pressed", "true")
        await expect(held).to_have_text("Reported: ok")
        await expect(first.get_by_role("status")).to_have_text("Thank you.")

        await bad.click()
        await expect(bad).to_have_attribute("aria-pressed", "true")
        await expect(good).to_have_attribute("aria-pressed", "false")
        await first.get_by_role("button", name="Wrong").click()
        await first.get_by_role("textbox").fill(MARKUP)
        await picture(page, "2-why")
        await page.keyboard.press("Control+Enter")
        await expect(held).to_have_text(f"Reported: not_ok · wrong · “{MARKUP}”")
        await expect(first.get_by_role("textbox")).to_be_hidden()
        assert await page.locator("img").count() == 0
        assert await page.title() == "Thumbs for an agent's answers"

        await page.reload()
        await expect(bad).to_have_attribute("aria-pressed", "true")
        await first.get_by_role("button", name="Say why").click()
        await expect(first.get_by_role("textbox")).to_have_value(MARKUP)
        await expect(first.get_by_role("button", name="Wrong")).to_have_attribute("aria-pressed", "true")
        await picture(page, "3-after-reload")
        await bad.press("Enter")
        await expect(bad).to_have_attribute("aria-pressed", "false")
        await expect(first.get_by_role("status")).to_have_text("Taken back.")
        await expect(held).to_have_text("")
        await page.reload()
        await expect(good).to_have_attribute("aria-pressed", "false")
        await expect(bad).to_have_attribute("aria-pressed", "false")
        assert complaints == []


@pytest.mark.parametrize(("scheme", "width"), [("light", 900), ("dark", 390)])
async def test_it_reads_well(stack: RunningStack, browser: Any, scheme: str, width: int) -> None:
    viewport = {"width": width, "height": 800}
    async with served(stack.app()) as url, opened(browser, color_scheme=scheme, viewport=viewport) as (page, _):
        await page.context.add_cookies([{"name": "agent_feedback_token", "value": "all", "url": url}])
        await page.goto(f"{url}/widget")
        await page.get_by_role("button", name="Start a conversation").click()
        first, second = (page.locator("agent-feedback-thumbs").nth(number) for number in (0, 1))
        await first.get_by_role("button", name="Good answer").click()
        await first.get_by_role("button", name="Close").click()
        await second.get_by_role("button", name="Bad answer").click()
        await second.get_by_role("button", name="Too long").click()
        await expect(page.locator(".held").first).to_have_text("Reported: ok")
        await picture(page, f"4-{scheme}-{width}")
        wide, shown = await page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
        assert wide <= shown
        for button in await page.locator("agent-feedback-thumbs .thumb").all():
            box, hand = await button.bounding_box(), await button.locator("path").bounding_box()
            assert min(box["width"], box["height"]) >= 40
            assert min(hand["width"], hand["height"]) >= 12, "the picture of a hand"


def good_of(page: Any) -> Any:
    return page.get_by_role("button", name="Good answer")


SIGNED_IN = """<!doctype html><title>shop</title><body><script src="/widget.js"></script><script>
    const thumbs = document.createElement("agent-feedback-thumbs");
    for (const [name, value] of Object.entries({tenant: "acme", project: "support", conversation: "%s", turn: "t1"}))
        thumbs.setAttribute(name, value);
    const loads = [];
    thumbs.addEventListener("feedback-loaded", (event) => loads.push(event.detail.text));
    %s
    document.body.append(thumbs);
</script>"""


async def held_by(stack: RunningStack, person: str, conversation: str) -> Any:
    await stack.quiet()
    async with stack.client(person) as http:
        answer = await http.get(f"/conversations/acme/support/{conversation}/turns/t1/feedback")
    return answer.json()["reaction"]


async def test_a_vote_behind_another_stays_the_persons_who_gave_it(stack: RunningStack, browser: Any) -> None:
    """The first vote is offline while a second one waits and somebody else signs in; both are the first person's."""
    await stack.publish(*exchange("c-queued", "t1"))
    await stack.quiet()
    async with served(stack.app()) as url, opened(browser) as (page, _):
        bearers: list[str] = []

        async def offline_while_another_signs_in(route: Any) -> None:
            is_vote = route.request.method == "POST"
            if is_vote:
                bearers.append(route.request.headers["authorization"])
            if not is_vote or len(bearers) > 1:
                await route.continue_()
                return
            await page.evaluate("thumbs.shadowRoot.querySelectorAll('.thumb')[1].click(); thumbs.token = 'reviewer'")
            await route.abort("internetdisconnected")

        page_of_ann = SIGNED_IN % ("c-queued", "thumbs.token = 'ann';")
        await page.route("**/shop", lambda route: route.fulfill(body=page_of_ann, content_type="text/html"))
        await page.route("**/turns/**", offline_while_another_signs_in)
        await page.goto(f"{url}/shop")
        is_second = "not_ok"
        async with page.expect_response(lambda answer: answer.ok and is_second in (answer.request.post_data or "")):
            await good_of(page).click()
        assert set(bearers) == {"Bearer ann"}
        assert (await held_by(stack, "ann", "c-queued"), await held_by(stack, "reviewer", "c-queued")) == (
            "not_ok",
            None,
        )


async def test_a_vote_whose_token_expired_is_not_sent_as_the_next_person(stack: RunningStack, browser: Any) -> None:
    await stack.publish(*exchange("c-expired", "t1"))
    await stack.quiet()
    async with served(stack.app()) as url, opened(browser) as (page, _):
        bearers: list[str] = []

        async def expired_while_another_signs_in(route: Any) -> None:
            is_vote = route.request.method == "POST"
            if is_vote:
                bearers.append(route.request.headers["authorization"])
            if not is_vote or len(bearers) > 1:
                await route.continue_()
                return
            await page.evaluate("thumbs.token = 'reviewer'")
            await route.fulfill(status=401, json={"detail": "expired"})

        page_of_ann = SIGNED_IN % (
            "c-expired",
            "thumbs.token = 'ann'; const told = []; for (const name of ['feedback', 'feedback-error'])"
            " thumbs.addEventListener(name, (event) => told.push([name, event.detail.status ?? null]));",
        )
        await page.route("**/shop", lambda route: route.fulfill(body=page_of_ann, content_type="text/html"))
        await page.route("**/turns/**", expired_while_another_signs_in)
        await page.goto(f"{url}/shop")
        await good_of(page).click()
        await page.wait_for_function("told.length > 0")
        assert await page.evaluate("told") == [["feedback-error", 401]]
        assert bearers == ["Bearer ann"]
        assert await held_by(stack, "reviewer", "c-expired") is None


async def test_nothing_of_the_last_person_is_shown_to_the_next(stack: RunningStack, browser: Any) -> None:
    """The judgement, the open form, an unsent text and the thanks disappear; the next person's own judgement is
    shown."""
    await stack.publish(*exchange("c-next", "t1"))
    await stack.quiet()
    async with stack.client("reviewer") as http:
        given = {"reaction": "ok", "text": "words of the reviewer"}
        answer = await http.post("/conversations/acme/support/c-next/turns/t1/feedback", json=given)
        assert answer.status_code == 202
    await stack.quiet()
    async with served(stack.app()) as url, opened(browser) as (page, _):
        page_of_ann = SIGNED_IN % ("c-next", "thumbs.token = 'ann';")
        await page.route("**/shop", lambda route: route.fulfill(body=page_of_ann, content_type="text/html"))
        await page.goto(f"{url}/shop")
        bad = page.get_by_role("button", name="Bad answer")
        await bad.click()
        await expect(page.get_by_role("status")).to_have_text("Thank you.")
        await page.get_by_role("button", name="Wrong").click()
        await page.get_by_role("textbox").fill("words of ann")
        await page.evaluate("thumbs.token = 'nobody'")
        await expect(page.get_by_role("status")).to_have_text("Sign in to give feedback.")
        for button in (good_of(page), bad):
            await expect(button).to_have_attribute("aria-pressed", "false")
        await expect(page.get_by_role("textbox")).to_be_hidden()
        await expect(page.get_by_role("button", name="Say why")).to_be_hidden()

        await page.evaluate("thumbs.token = 'reviewer'")
        await expect(good_of(page)).to_have_attribute("aria-pressed", "true")
        await expect(bad).to_have_attribute("aria-pressed", "false")
        await expect(page.get_by_role("status")).to_have_text("")
        await page.get_by_role("button", name="Say why").click()
        await expect(page.get_by_role("textbox")).to_have_value("words of the reviewer")
        await expect(page.get_by_role("button", name="Helpful")).to_have_attribute("aria-pressed", "false")
    assert (await held_by(stack, "ann", "c-next"), await held_by(stack, "reviewer", "c-next")) == ("not_ok", "ok")


async def test_a_token_that_comes_late_is_not_the_next_persons(stack: RunningStack, browser: Any) -> None:
    await stack.publish(*exchange("c-late", "t1"))
    await stack.quiet()
    async with served(stack.app()) as url, opened(browser) as (page, _):
        slow = "thumbs.getToken = () => new Promise((give) => { window.late = give; });"
        page_of_ann = SIGNED_IN % ("c-late", slow)
        await page.route("**/shop", lambda route: route.fulfill(body=page_of_ann, content_type="text/html"))
        await page.goto(f"{url}/shop")
        await page.wait_for_function("typeof late === 'function'")
        await page.evaluate("thumbs.getToken = async () => 'reviewer'")
        await page.wait_for_function("loads.length > 0")
        await page.evaluate("late('ann')")
        async with page.expect_response(lambda answer: answer.request.method == "POST" and answer.ok):
            await good_of(page).click()
        assert (await held_by(stack, "ann", "c-late"), await held_by(stack, "reviewer", "c-late")) == (None, "ok")


async def test_the_files_need_no_token_and_no_network(stack: RunningStack) -> None:
    async with served(stack.app()) as url, httpx.AsyncClient(base_url=url) as http:
        for path, media_type in (
            ("/widget", "text/html"),
            ("/widget.js", "text/javascript"),
            ("/widget-demo.js", "text/javascript"),
            ("/widget-demo.css", "text/css"),
        ):
            answer = await http.get(path)
            assert answer.status_code == 200
            assert answer.headers["content-type"] == f"{media_type}; charset=utf-8"
            text = answer.text.replace("http://www.w3.org/2000/svg", "")
            assert "http://" not in text and "https://" not in text and "innerHTML" not in text
        assert (await http.get("/widgets")).status_code == 404


# The thumbs widget on another site's page, in Chromium: every documented use, and failures.

DOCS = Path(__file__).parents[2] / "docs"


POLICY = "default-src 'none'; script-src {api} 'nonce-n'; connect-src 'self' {api}; base-uri 'none'"


class Site:
    """Another site: a page, and a URL that returns the token of the person who is signed in by a cookie."""

    def __init__(self) -> None:
        self.html = ""
        self.headers: dict[str, str] = {}
        self.tokens = ["ann"]
        self.asked: list[dict[str, str]] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        if scope["path"] == "/feedback-token":
            self.asked.append({name.decode(): value.decode() for name, value in scope["headers"]})
            token = self.tokens.pop(0) if len(self.tokens) > 1 else self.tokens[0]
            body, media_type = json.dumps({"token": token}), "application/json"
        elif scope["path"] == "/my/feedback-token":
            body, media_type = self.tokens[0], "text/plain"
        else:
            body, media_type = self.html, "text/html"
        headers = {"content-type": f"{media_type}; charset=utf-8", **self.headers}
        sent = [(name.encode(), value.encode()) for name, value in headers.items()]
        await send({"type": "http.response.start", "status": 200, "headers": sent})
        await send({"type": "http.response.body", "body": body.encode()})


class Api:
    """The platform, and the cookies of calls of its API."""

    def __init__(self, app: Any) -> None:
        self._app = app
        self.cookies: list[str] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"].startswith("/conversations"):
            self.cookies += [value.decode() for name, value in scope["headers"] if name == b"cookie"]
        await self._app(scope, receive, send)


class Visitors(Tokens):
    """Tokens of visitors: `ann` has no scope, `stale` has expired."""

    async def authenticate(self, token: str) -> Caller | None:
        return Caller("ann", tenant="acme", project="support") if token == "ann" else None


Open = Callable[..., Any]


@pytest_asyncio.fixture(loop_scope="session")
async def shop(stack: RunningStack, browser: Any) -> AsyncIterator[Open]:
    """Yield `shop(html, ...)`, which opens a page of another site; `{api}` and `{turn}` mean the platform and a
    turn."""
    site = Site()
    conversation = f"c-{uuid4()}"
    await stack.publish(*exchange(conversation, "t1"), *exchange(conversation, "t2"))
    await stack.quiet()

    async with served(site) as address, opened(browser) as (page, complaints):
        here = address.replace("127.0.0.1", "localhost")
        api = Api(stack.app(Visitors(), origins=[here]))
        async with served(api) as there:
            element = f'tenant="acme" project="support" conversation="{conversation}" turn="t1"'

            async def open_page(html: str, policy: str | None = None) -> Any:
                site.html = "<!doctype html><title>shop</title><body>" + html.replace("{api}", there).replace(
                    "{ids}", element
                )
                site.headers = {"content-security-policy": policy.replace("{api}", there)} if policy else {}
                await page.context.add_cookies([{"name": "session", "value": "shop", "url": here}])
                await page.context.add_cookies([{"name": "agent_feedback_token", "value": "ann", "url": there}])
                await page.goto(f"{here}/")
                return page

            async def held(turn: str = "t1") -> dict[str, Any]:
                await stack.quiet()
                async with stack.client("ann") as http:
                    answer = await http.get(f"/conversations/acme/support/{conversation}/turns/{turn}/feedback")
                given: dict[str, Any] = answer.json()
                return given

            open_page.held = held  # type: ignore[attr-defined]
            open_page.site = site  # type: ignore[attr-defined]
            open_page.api = api  # type: ignore[attr-defined]
            open_page.complaints = complaints  # type: ignore[attr-defined]
            yield open_page


def good(page: Any) -> Any:
    return page.get_by_role("button", name="Good answer")


async def votes(page: Any, shop: Any) -> None:
    """Vote as ann, and check that the vote is accepted without any cookie."""
    await good(page).click()
    await expect(page.get_by_role("status")).to_have_text("Thank you.")
    assert (await shop.held())["reaction"] == "ok"
    assert shop.api.cookies == []
    assert shop.complaints == []


async def test_a_classic_script_and_an_address_for_tokens(shop: Any) -> None:
    page = await shop(
        '<script src="{api}/widget.js"></script>'
        '<agent-feedback-thumbs {ids} token-url="/feedback-token"></agent-feedback-thumbs>'
    )
    await votes(page, shop)
    assert "session=shop" in shop.site.asked[0]["cookie"]  # the page's own site knows who is signed in
    await page.reload()
    await expect(good(page)).to_have_attribute("aria-pressed", "true")


async def test_the_snippet_of_the_documentation_works_as_printed(shop: Any) -> None:
    [snippet] = re.findall(r"```html\n(<script src=.*?)```", (DOCS / "http.md").read_text("utf-8"), re.DOTALL)
    ids = re.compile(r'tenant="[^"]*" project="[^"]*" conversation="[^"]*" turn="[^"]*"')
    assert ids.search(snippet) and "https://feedback.example" in snippet
    html = ids.sub("{ids}", snippet).replace("https://feedback.example", "{api}")
    await votes(await shop(html), shop)


async def test_properties_set_before_and_after_the_upgrade(shop: Any) -> None:
    page = await shop(
        """<script>
        const early = document.createElement("agent-feedback-thumbs");
        early.token = "ann";
        for (const pair of `{ids}`.matchAll(/(\\w+)="([^"]*)"/g)) early[pair[1]] = pair[2];
        early.labels = {ok: "Gut"};
        document.body.append(early);
        </script><script src="{api}/widget.js"></script>"""
    )
    await page.get_by_role("button", name="Gut").click()
    await expect(page.get_by_role("status")).to_have_text("Thank you.")
    assert (await shop.held())["reaction"] == "ok"
    await page.evaluate("document.querySelector('agent-feedback-thumbs').turn = 't2'")
    await expect(page.get_by_role("button", name="Gut")).to_have_attribute("aria-pressed", "false")
    await page.evaluate("document.querySelector('agent-feedback-thumbs').turn = 't1'")
    await expect(page.get_by_role("button", name="Gut")).to_have_attribute("aria-pressed", "true")
    assert shop.complaints == []


async def test_a_strict_policy_of_the_page_is_kept(shop: Any) -> None:
    page = await shop(
        '<script src="{api}/widget.js"></script>'
        '<agent-feedback-thumbs {ids} token-url="/feedback-token"></agent-feedback-thumbs>',
        POLICY,
    )
    await votes(page, shop)
    await picture(page, "6-elsewhere-strict")


async def test_the_script_is_small(stack: RunningStack) -> None:
    async with stack.client(None) as http:
        plain = await http.get("/widget.js", headers={"accept-encoding": "identity"})
        async with http.stream("GET", "/widget.js", headers={"accept-encoding": "gzip"}) as sent:
            packed = b"".join([part async for part in sent.aiter_raw()])
        refused = await http.get("/widget.js", headers={"accept-encoding": "br, gzip;q=0"})
    assert sent.headers["content-encoding"] == "gzip"
    assert sent.headers["vary"] == "Accept-Encoding"
    assert gzip.decompress(packed) == plain.content == refused.content
    assert len(plain.content) < 13_500
    assert len(packed) < 6_000
