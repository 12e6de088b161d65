"""Reviews of machine verdicts: over HTTP, by the transcript's form, and where they count."""

from __future__ import annotations

import re
import shutil
from typing import Any
from urllib.parse import quote
from uuid import uuid4

import pytest
from running_stack import RunningStack, exchange, message
from served import served

from contracts.ids import feedback_id
from servicekit.http.auth import COOKIE

BASE = "/conversations/acme/support"


async def judged_by_machine(stack: RunningStack, conversation: str) -> str:
    """A turn that the machine takes for rejected. The verdict's id."""
    await stack.publish(*exchange(conversation, "t1"))
    await stack.publish(
        message("q2", conversation, content="No, that is wrong.", occurredAt="2026-01-01T10:01:00Z"),
        message("a2", conversation, agent="bot", turn="t2", occurredAt="2026-01-01T10:01:05Z"),
    )
    await stack.quiet()
    (row,) = await stack.rows(
        f"select feedback_id from reporting.effective where conversation_id = '{conversation}' and origin = 'machine'"
    )
    return str(row["feedback_id"])


def path_of(conversation: str, turn: str = "t1") -> str:
    return f"{BASE}/{conversation}/turns/{turn}/reviews"


async def sent(stack: RunningStack, conversation: str, body: Any, *, turn: str = "t1", **options: Any) -> Any:
    async with stack.client() as http:
        answer = await http.post(path_of(conversation, turn), json=body, **options)
    await stack.quiet()
    return answer


async def asked(stack: RunningStack, path: str, **query: Any) -> Any:
    async with stack.client() as http:
        answer = await http.get(f"{BASE}/{path}", params=query)
    assert answer.status_code == 200, answer.text
    return answer


async def found(stack: RunningStack, **body: Any) -> list[dict[str, Any]]:
    async with stack.client() as http:
        return list((await http.post(f"{BASE}/feedback/search", json=body)).json()["items"])


async def test_a_review_is_the_reviewers_own_feedback_and_names_the_verdict(stack: RunningStack) -> None:
    verdict = await judged_by_machine(stack, "r-1")
    body = {"verdict": verdict, "reaction": "ok", "text": "She meant the shop.", "correction": "It opens at ten."}
    answer = await sent(stack, "r-1", body)
    assert answer.status_code == 202, answer.text
    expected = feedback_id("acme", "support", "r-1", source="review", user_id="local", agent_id="", source_id="t1")
    assert answer.json()["feedback_id"] == str(expected)
    (review,) = [one for one in await found(stack, conversation_id="r-1", reviews=True) if one["origin"] == "user"]
    assert (review["reviews"], review["user_id"], review["tags"], review["feedback_type"], review["value"]) == (
        verdict,
        "local",
        ["review"],
        "explicit",
        1.0,
    )
    assert (review["text"], review["correction"]) == ("She meant the shop.", "It opens at ten.")


async def test_a_review_counts_in_calibration_and_in_figures_only_where_asked_for(stack: RunningStack) -> None:
    verdict = await judged_by_machine(stack, "r-2")
    window = {"start": "2026-01-01T00:00:00Z", "end": "2030-01-01T00:00:00Z"}
    paths = ("feedback/summary", "feedback/agents", "feedback/reasons")
    before = [(await asked(stack, path, **window)).json() for path in paths]
    pairs = (await asked(stack, "feedback/calibration", **window)).json()["pairs"]
    await sent(stack, "r-2", {"verdict": verdict, "reaction": "neutral"})
    assert [(await asked(stack, path, **window)).json() for path in paths] == before
    assert [one["origin"] for one in await found(stack, conversation_id="r-2")] == ["machine"]
    more = (await asked(stack, "feedback/summary", **window, reviews=True)).json()["totals"]
    assert more["user"] > before[0]["totals"]["user"]
    assert (await asked(stack, "feedback/calibration", **window)).json()["pairs"] == pairs + 1
    lines = (await asked(stack, "exports/detector", conversation_id="r-2")).text.splitlines()
    assert len(lines) == 1
    assert '"machine": "not_ok", "people": "neutral", "reviewed": true' in lines[0]


async def test_it_stands_beside_the_reviewers_own_word_and_is_changed_and_taken_back(stack: RunningStack) -> None:
    verdict = await judged_by_machine(stack, "r-3")
    async with stack.client() as http:
        own = f"{BASE}/r-3/turns/t1/feedback"
        assert (await http.post(own, json={"reaction": "not_ok"})).status_code == 202
    await sent(stack, "r-3", {"verdict": verdict, "reaction": "ok"})
    await sent(stack, "r-3", {"verdict": verdict, "reaction": "neutral"})
    people = [one for one in await found(stack, conversation_id="r-3", reviews=True) if one["origin"] == "user"]
    assert sorted((one["reaction"], one["reviews"]) for one in people) == [("neutral", verdict), ("not_ok", None)]
    async with stack.client() as http:
        assert (await http.get(own)).json()["reaction"] == "not_ok"
    await sent(stack, "r-3", {"verdict": verdict, "reaction": None})
    people = [one for one in await found(stack, conversation_id="r-3", reviews=True) if one["origin"] == "user"]
    assert [one["reviews"] for one in people] == [None]


async def test_only_a_live_verdict_of_the_machine_on_that_turn_is_reviewed(stack: RunningStack) -> None:
    verdict = await judged_by_machine(stack, "r-4")
    other = await judged_by_machine(stack, "r-4b")
    async with stack.client() as http:
        given = (await http.post(f"{BASE}/r-4/turns/t1/feedback", json={"reaction": "ok"})).json()["feedback_id"]
    await stack.quiet()
    for wrong in (str(uuid4()), other, given):
        assert (await sent(stack, "r-4", {"verdict": wrong, "reaction": "ok"})).status_code == 404
    assert (await sent(stack, "r-4", {"verdict": verdict, "reaction": "ok"}, turn="t2")).status_code == 404
    for body in ({"verdict": verdict}, {"reaction": "ok"}, {"verdict": "x", "reaction": "ok"}, [], {"verdict": 1}):
        assert (await sent(stack, "r-4", body)).status_code == 422
    assert (await sent(stack, "r-4", {"verdict": verdict, "reaction": "ok", "user_id": "bob"})).status_code == 422


async def test_the_form_goes_back_to_the_transcript_and_comes_from_it_alone(stack: RunningStack) -> None:
    verdict = await judged_by_machine(stack, "r-5")
    home = "/dashboard/conversation?at=acme%2Fsupport&id=r-5"
    fields = {"verdict": verdict, "reaction": "ok", "text": "", "correction": "", "next": home + "#here"}
    async with stack.client(None) as http:
        http.cookies.set(COOKIE, "all")
        for site in ("cross-site", "same-site"):
            refused = await http.post(path_of("r-5"), data=fields, headers={"Sec-Fetch-Site": site})
            assert refused.status_code == 403
        done = await http.post(path_of("r-5"), data=fields, headers={"Sec-Fetch-Site": "same-origin"})
        assert done.status_code == 303
        assert re.fullmatch(re.escape(home) + r"&reviewed=[0-9a-f-]{36}#here", done.headers["location"])
        for elsewhere in ("https://evil.example/", "//evil.example", "/sign-in", ""):
            away = await http.post(path_of("r-5"), data=fields | {"next": elsewhere})
            assert away.headers["location"].startswith("/dashboard/conversation?")
        plain = await http.post(path_of("r-5"), content="verdict=x", headers={"Content-Type": "text/plain"})
        assert plain.status_code == 415


@pytest.mark.browser
@pytest.mark.skipif(shutil.which("chromium") is None, reason="Chromium needed: apt-get install chromium")
async def test_a_reviewer_says_on_the_page_what_the_verdict_should_be(stack: RunningStack) -> None:
    playwright = pytest.importorskip("playwright.async_api")
    conversation = "r/6 ü"
    verdict = await judged_by_machine(stack, conversation)
    async with served(stack.app()) as url, playwright.async_playwright() as started:
        browser = await started.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        page = await browser.new_page(viewport={"width": 390, "height": 800})
        page.set_default_timeout(10_000)
        await page.goto(f"{url}/?token=all")
        await page.goto(f"{url}/dashboard/conversation?at=acme/support&id={quote(conversation, safe='')}&period=all")
        await page.get_by_text("This verdict is wrong").click()
        assert await page.get_by_role("radio").count() == 2
        await page.get_by_label("Neutral").check()
        await page.get_by_label("Why").fill("<b>A question</b> of hers")
        await page.get_by_role("button", name="Save the review").click()
        await page.wait_for_url("**/dashboard/conversation?*reviewed=*")
        await stack.quiet()
        await page.reload()
        assert await page.get_by_text("reviewer", exact=True).count() == 1
        assert await page.get_by_text("<b>A question</b> of hers").count() == 1
        assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        await browser.close()
    (review,) = [o for o in await found(stack, conversation_id=conversation, reviews=True) if o["origin"] == "user"]
    assert (review["reaction"], review["reviews"]) == ("neutral", verdict)
