"""The thumbs widget on another site's page, in Chromium: every documented use, and failures."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
import pytest_asyncio
from starlette.types import Receive, Scope, Send

from servicekit.web.auth import Caller
from tests.support.chromium import expect, needs_chromium, opened, picture
from tests.support.running_stack import RunningStack, Tokens, exchange, running_stack
from tests.support.served import served

pytestmark = needs_chromium
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


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def stack(postgres_url: str) -> AsyncIterator[RunningStack]:
    async with running_stack(postgres_url) as running:
        yield running


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


@pytest.mark.parametrize("file", ["http.md", "tokens.md"])
async def test_the_snippet_of_the_documentation_works_as_printed(shop: Any, file: str) -> None:
    [snippet] = re.findall(r"```html\n(<script src=.*?)```", (DOCS / file).read_text("utf-8"), re.DOTALL)
    ids = re.compile(r'tenant="[^"]*" project="[^"]*" conversation="[^"]*" turn="[^"]*"')
    assert ids.search(snippet) and "https://feedback.example" in snippet
    html = ids.sub("{ids}", snippet).replace("https://feedback.example", "{api}")
    await votes(await shop(html), shop)


async def test_a_callback_set_before_the_script_has_loaded(shop: Any) -> None:
    page = await shop(
        "<agent-feedback-thumbs {ids}></agent-feedback-thumbs>"
        "<script>document.querySelector('agent-feedback-thumbs').getToken = async () => 'ann';</script>"
        '<script async src="{api}/widget.js"></script>'
    )
    await votes(page, shop)


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


async def test_a_token_that_comes_later_brings_the_held_vote(stack: RunningStack, shop: Any) -> None:
    page = await shop('<script src="{api}/widget.js"></script><agent-feedback-thumbs {ids}></agent-feedback-thumbs>')
    await expect(good(page)).to_have_attribute("aria-pressed", "false")
    await page.evaluate("document.querySelector('agent-feedback-thumbs').token = 'ann'")
    await votes(page, shop)
    page = await shop('<script src="{api}/widget.js"></script><agent-feedback-thumbs {ids}></agent-feedback-thumbs>')
    await expect(good(page)).to_have_attribute("aria-pressed", "false")
    await page.evaluate("document.querySelector('agent-feedback-thumbs').token = 'ann'")
    await expect(good(page)).to_have_attribute("aria-pressed", "true")


async def test_a_token_that_has_run_out_is_fetched_anew(shop: Any) -> None:
    shop.site.tokens = ["stale", "stale", "ann"]
    page = await shop(
        '<script src="{api}/widget.js"></script>'
        '<agent-feedback-thumbs {ids} token-url="/feedback-token"></agent-feedback-thumbs>'
    )
    await expect(page.get_by_role("status")).to_have_text("Sign in to give feedback.")
    await good(page).click()
    await expect(page.get_by_role("status")).to_have_text("Thank you.")
    assert (await shop.held())["reaction"] == "ok"


async def test_a_strict_policy_of_the_page_is_kept(shop: Any) -> None:
    page = await shop(
        '<script src="{api}/widget.js"></script>'
        '<agent-feedback-thumbs {ids} token-url="/feedback-token"></agent-feedback-thumbs>',
        POLICY,
    )
    await votes(page, shop)
    await picture(page, "6-elsewhere-strict")


GERMAN = {
    "group": "War das hilfreich?",
    "ok": "Gute Antwort",
    "not_ok": "Schlechte Antwort",
    "why": "Warum?",
    "not_ok_why": "Was war falsch?",
    "words": "In eigenen Worten",
    "correction": "Was wäre richtig?",
    "send": "Senden",
    "close": "Schließen",
    "noted": "Danke, notiert.",
    "outdated": "Veraltet",
    "rude": "Unhöflich",
}


async def test_labels_reasons_and_a_correction_by_keyboard(shop: Any) -> None:
    labels = json.dumps(GERMAN, ensure_ascii=False)
    page = await shop(
        '<script src="{api}/widget.js"></script>'
        f"<agent-feedback-thumbs {{ids}} token-url='/feedback-token' labels='{labels}' correction"
        ' reasons=\'{"not_ok": ["outdated", "rude", "not_listed"]}\'></agent-feedback-thumbs>'
        "<script>window.heard = []; for (const name of ['feedback', 'feedback-loaded', 'feedback-error'])"
        " addEventListener(name, (event) => heard.push([name, event.detail]));</script>"
    )
    wrong = page.get_by_role("button", name="Schlechte Antwort")
    await expect(page.get_by_role("group", name="War das hilfreich?")).to_be_visible()
    await wrong.focus()
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("group", name="Was war falsch?")).to_be_visible()
    outdated = page.get_by_role("button", name="Veraltet")
    await outdated.focus()
    await page.keyboard.press("Space")
    await expect(outdated).to_have_attribute("aria-pressed", "true")
    await expect(page.get_by_role("button", name="not_listed")).to_be_visible()
    await page.get_by_label("In eigenen Worten").fill(" Seit März nicht mehr.\n")
    await page.get_by_label("Was wäre richtig?").fill("  24 Euro. ")
    await picture(page, "7-elsewhere-german")
    await page.keyboard.press("Control+Enter")
    await expect(page.get_by_role("status")).to_have_text("Danke, notiert.")
    held = await shop.held()
    assert (held["reaction"], held["tags"], held["text"], held["correction"]) == (
        "not_ok",
        ["outdated"],
        "Seit März nicht mehr.",
        "24 Euro.",
    )
    heard = await page.evaluate("heard")
    assert [name for name, _ in heard] == ["feedback-loaded", "feedback", "feedback"]
    assert heard[-1][1]["correction"] == "24 Euro." and heard[-1][1]["feedbackId"]
    await page.reload()
    await expect(wrong).to_have_attribute("aria-pressed", "true")
    await page.get_by_role("button", name="Warum?").click()
    await expect(page.get_by_label("Was wäre richtig?")).to_have_value("24 Euro.")


async def test_what_the_platform_refuses_is_told_to_the_page(shop: Any) -> None:
    page = await shop(
        '<script src="{api}/widget.js"></script><agent-feedback-thumbs {ids} token-url="/feedback-token">'
        "</agent-feedback-thumbs><script>addEventListener('feedback-error', (event) => window.failed = event.detail)"
        ";document.querySelector('agent-feedback-thumbs').setAttribute('turn', 'nowhere')</script>"
    )
    await good(page).click()
    await expect(page.get_by_role("status")).to_have_text("This answer is not known.")
    await expect(good(page)).to_have_attribute("aria-pressed", "false")
    assert (await page.evaluate("failed"))["status"] == 404


async def test_a_broken_attribute_and_two_scripts_change_nothing(shop: Any) -> None:
    page = await shop(
        '<script src="{api}/widget.js"></script><script src="{api}/widget.js"></script>'
        "<agent-feedback-thumbs {ids} token-url='/feedback-token' labels='{nonsense' reasons='[1'>"
        "</agent-feedback-thumbs>"
    )
    await votes(page, shop)


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
