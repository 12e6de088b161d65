"""The widget's element in Chromium: what it shows and asks for, by its attributes and by the platform's answers.

The platform's answers are written by hand, so no stack is needed.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import pytest
import pytest_asyncio

from tests.support.chromium import expect, needs_chromium, opened

pytestmark = needs_chromium
SCRIPT = Path(__file__).parents[2] / "services" / "feedback" / "widget" / "thumbs.min.js"
SITE = "http://shop.test"
ANY_SITE = {"access-control-allow-origin": "*"}
SECONDS = 15
"""Timeout of a script in the page: a promise in it may never be kept."""
FEEDBACK = "/conversations/acme/support/c-1/turns/t-1/feedback"
NOTHING: dict[str, Any] = {"reaction": None, "rating": None, "tags": [], "text": "", "correction": ""}
HELPERS = """<script>
    const heard = [];
    for (const name of ["feedback", "feedback-loaded", "feedback-error"])
        addEventListener(name, (event) => heard.push([name, event.detail]));
    const place = {tenant: "acme", project: "support", conversation: "c-1", turn: "t-1"};
    const add = (given = {}) => {
        const made = document.createElement("agent-feedback-thumbs");
        document.body.append(Object.assign(made, place, given));
        return made;
    };
    const event = (made, name) => new Promise((done) => made.addEventListener(name, (told) => done(told.detail)));
    const load = (given) => event(add(given), "feedback-loaded");
    const texts = (made, path, name) =>
        [...made.shadowRoot.querySelectorAll(path)].map((one) => name ? one.getAttribute(name) : one.textContent);
    const say = (made) => made.shadowRoot.querySelector("[role=status]").textContent;
    const press = (made, number = 0) => made.shadowRoot.querySelectorAll(".thumb, .point")[number].click();
    const pressed = (made) => texts(made, ".row > [aria-pressed=true]", "aria-label");
    const shown = (made, path) => made.shadowRoot.querySelector(path).checkVisibility();
</script>"""


class Asked(NamedTuple):
    """A request of the widget."""

    method: str
    path: str
    bearer: str | None
    body: Any


class Platform:
    """A site with a page and the widget; answers the requests of the widget with `answer`, and notes them."""

    def __init__(self, page: Any, complaints: list[str]) -> None:
        self.page = page
        self.complaints = complaints
        self.html = HELPERS + '<script src="/widget.js"></script>'
        self.asked: list[Asked] = []
        self.tokens: list[dict[str, Any]] = []
        """Answers to requests of a token, in order."""
        self.answer: Callable[[Asked], Any] = lambda asked: (
            (200, {}) if asked.method == "GET" else (202, {"feedback_id": "f-1"})
        )
        """Status and body of the response, or an awaitable of them; status 0 for a broken connection."""

    async def __call__(self, route: Any) -> None:
        request, path = route.request, urlsplit(route.request.url).path
        if path.endswith("/widget.js"):
            await route.fulfill(body=SCRIPT.read_text("utf-8"), content_type="text/javascript")
        elif path.endswith("/token"):
            await route.fulfill(**self.tokens.pop(0))
        elif "/conversations/" in path:
            bearer = request.headers.get("authorization")
            asked = Asked(
                request.method, request.url.removeprefix(SITE), bearer, json.loads(request.post_data or "null")
            )
            self.asked.append(asked)
            found = self.answer(asked)
            status, body = await found if asyncio.iscoroutine(found) else found
            await (
                route.fulfill(status=status, json=body, headers=ANY_SITE)
                if status
                else route.abort("connectionrefused")
            )
        else:
            await route.fulfill(body=f"<!doctype html><title>shop</title><body>{self.html}", content_type="text/html")

    async def run(self, script: str, argument: Any = None) -> Any:
        async with asyncio.timeout(SECONDS):
            return await self.page.evaluate(script, argument)

    def holds(self, held: dict[str, Any]) -> None:
        """Respond with `held` to requests of the person's judgement."""
        self.answer = lambda asked: (200, held) if asked.method == "GET" else (202, {"feedback_id": "f-1"})

    def refuses(self, method: str, status: int) -> None:
        self.answer = lambda asked: (status if asked.method == method else 200, {})

    def taken(self) -> list[Asked]:
        """Return the requests since the last call."""
        taken, self.asked = self.asked, []
        return taken


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def page(browser: Any) -> AsyncIterator[tuple[Any, list[str]]]:
    async with opened(browser) as (page, complaints):
        yield page, complaints


@pytest_asyncio.fixture(loop_scope="session")
async def platform(page: tuple[Any, list[str]]) -> AsyncIterator[Platform]:
    platform = Platform(*page)
    await platform.page.route("**/*", platform)
    await platform.page.goto(f"{SITE}/")
    platform.complaints.clear()
    yield platform
    await platform.page.goto("about:blank")
    await platform.page.unroute("**/*")


@pytest.mark.parametrize(
    ("given", "path"),
    [
        ({}, FEEDBACK),
        ({"base": "/api"}, f"/api{FEEDBACK}"),
        ({"base": "/deep/api//"}, f"/deep/api{FEEDBACK}"),
        ({"base": f"{SITE}/api/"}, f"/api{FEEDBACK}"),
        (
            {"conversation": "c/1 ü?", "turn": "t#1"},
            "/conversations/acme/support/c%2F1%20%C3%BC%3F/turns/t%231/feedback",
        ),
    ],
)
async def test_the_address_that_is_asked(platform: Platform, given: dict[str, str], path: str) -> None:
    await platform.run("load", given)
    assert platform.asked == [Asked("GET", path, None, None)]


@pytest.mark.parametrize(
    ("html", "folder"),
    [
        ('<script src="/static/widget.js"></script>', "/static"),
        ('<script type="module" src="/static/widget.js"></script>', "/static"),
        ("<script>%s</script>", "/pages"),
        ('<script type="module">%s</script>', "/pages"),
    ],
)
async def test_the_platform_is_where_the_script_is_or_else_the_page(platform: Platform, html: str, folder: str) -> None:
    platform.html = HELPERS + (html % SCRIPT.read_text("utf-8") if "%s" in html else html)
    await platform.page.goto(f"{SITE}/pages/shop")
    await platform.run("load()")
    assert [one.path for one in platform.asked] == [folder + FEEDBACK]


FIVE = ["1", "2", "3", "4", "5"]


async def test_the_points_of_a_scale(platform: Platform) -> None:
    for scale, points in (
        ("5", FIVE),
        ("2", ["1", "2"]),
        ("10", [*FIVE, "6", "7", "8", "9", "10"]),
        ("100", [str(point) for point in range(1, 101)]),
        *((scale, []) for scale in ("101", "1", "0", "-5", "4.5", "polite", "7even", "even7", "", None)),
    ):
        await platform.run("scale => { window.one = add({scale}); }", scale)
        names = [f"{point} / {len(points)}" for point in points] or ["Good answer", "Bad answer"]
        for attribute in ("aria-label", "title"):
            assert await platform.run(f"texts(one, '.thumb, .point', '{attribute}')") == names, scale
        assert await platform.run("texts(one, '.point')") == points
        assert await platform.run("texts(one, '.row', 'aria-label')") == ["Was this answer helpful?"]
    assert platform.complaints == []


SAID = {"tags": ["wrong"], "text": "words", "correction": "right"}


@pytest.mark.parametrize(
    ("scale", "held", "loaded", "pressed"),
    [
        (None, {}, NOTHING, []),
        (None, {"reaction": "ok"}, {**NOTHING, "reaction": "ok"}, ["Good answer"]),
        (
            None,
            {"reaction": "not_ok", "rating": 2, **SAID},
            {"reaction": "not_ok", "rating": 2, **SAID},
            ["Bad answer"],
        ),
        (None, {"reaction": "neutral", "tags": None}, {**NOTHING, "reaction": "neutral"}, []),
        ("5", {"rating": 4, "worst_rating": 1, "best_rating": 5}, {**NOTHING, "rating": 4}, ["4 / 5"]),
        ("5", {"rating": 4, "worst_rating": 1, "best_rating": 10}, NOTHING, []),
        ("5", {"rating": 4, "worst_rating": 0, "best_rating": 5}, NOTHING, []),
        ("5", {"reaction": "ok", "rating": None}, NOTHING, []),
    ],
)
async def test_what_is_held_is_shown(
    platform: Platform, scale: str | None, held: dict[str, Any], loaded: dict[str, Any], pressed: list[str]
) -> None:
    platform.holds(held)
    assert await platform.run("scale => event(window.one = add({scale}), 'feedback-loaded')", scale) == loaded
    assert await platform.run("pressed(one)") == pressed
    assert await platform.run("texts(one, '.row > [aria-pressed=false]').length") == (5 if scale else 2) - len(pressed)
    assert await platform.run("shown(one, '[aria-expanded]')") == bool(pressed)
    assert not await platform.run("shown(one, 'form')")
    assert await platform.run("say(one)") == ""


@pytest.mark.parametrize(
    ("scale", "number", "given", "body"),
    [
        (None, 0, {"reaction": "ok"}, {"reaction": "ok", "tags": [], "text": None, "correction": None}),
        (None, 1, {"reaction": "not_ok"}, {"reaction": "not_ok", "tags": [], "text": None, "correction": None}),
        ("5", 3, {"rating": 4}, {"rating": 4, "scale": 5, "text": None}),
    ],
)
async def test_what_is_pressed_is_sent_and_pressed_again_taken_back(
    platform: Platform, scale: str | None, number: int, given: dict[str, Any], body: dict[str, Any]
) -> None:
    platform.holds({"text": "old words", "tags": ["wrong"], "correction": "old"})
    await platform.run("scale => event(window.one = add({scale, correction: true}), 'feedback-loaded')", scale)
    platform.taken()
    wanted = {**NOTHING, **given}
    told = await platform.run("number => (press(one, number), event(one, 'feedback'))", number)
    assert told == {**wanted, "feedbackId": "f-1"}
    assert platform.taken() == [Asked("POST", FEEDBACK, None, body)]
    assert await platform.run("[say(one), shown(one, 'form'), shown(one, '[aria-expanded]')]") == [
        "Thank you.",
        True,
        False,
    ]

    with_words = {**wanted, "text": "words"}
    told = await platform.run(
        """() => {
            one.shadowRoot.querySelector("textarea").value = "\\n words ";
            one.shadowRoot.querySelector("[type=submit]").click();
            return event(one, "feedback");
        }"""
    )
    assert told == {**with_words, "feedbackId": "f-1"}
    assert platform.taken() == [Asked("POST", FEEDBACK, None, {**body, "text": "words"})]
    assert await platform.run("[say(one), shown(one, 'form')]") == ["Thank you, noted.", False]

    told = await platform.run("number => (press(one, number), event(one, 'feedback'))", number)
    assert told == {**NOTHING, "feedbackId": "f-1"}
    back = {"rating": None, "scale": body["scale"]} if scale else {"reaction": None}
    assert platform.taken() == [Asked("POST", FEEDBACK, None, back)]
    assert await platform.run("[say(one), pressed(one), shown(one, 'form'), shown(one, '[aria-expanded]')]") == [
        "Taken back.", [], False, False,
    ]  # fmt: skip


FAILED = "That did not work; try again."


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (401, "Sign in to give feedback."),
        (403, "You may not give feedback here."),
        (404, "This answer is not known."),
        (422, FAILED),
        (500, FAILED),
        (0, FAILED),
    ],
)
async def test_a_refusal_is_shown_for_a_press_and_only_a_missing_sign_in_for_a_load(
    platform: Platform, status: int, words: str
) -> None:
    platform.refuses("GET", status)
    await platform.run("() => { window.one = add(); }")
    await platform.run("one.reload()")
    assert await platform.run("say(one)") == (words if status == 401 else "")
    assert await platform.run("heard") == []

    platform.holds({"reaction": "not_ok"})
    await platform.run("one.reload()")
    platform.refuses("POST", status)
    told = await platform.run("(press(one), event(one, 'feedback-error'))")
    assert told == {**NOTHING, "reaction": "ok", "status": status or None}
    assert await platform.run("[say(one), pressed(one), shown(one, 'form')]") == [words, ["Bad answer"], False]


async def test_an_answer_that_comes_too_late_changes_nothing(platform: Platform) -> None:
    for status in (401, 200):
        came, leave = asyncio.Event(), asyncio.Event()

        async def late(_: Asked, status: int = status, came: asyncio.Event = came, leave: asyncio.Event = leave) -> Any:
            came.set()
            await leave.wait()
            return status, {"reaction": "not_ok"}

        platform.answer = late
        await platform.run("() => { heard.length = 0; window.one = add(); window.first = one.reload(); }")
        async with asyncio.timeout(SECONDS):
            await came.wait()
        platform.holds({"reaction": "ok"})
        await platform.run("one.reload()")
        leave.set()
        await platform.run("first")
        assert await platform.run("[say(one), pressed(one)]") == ["", ["Good answer"]]
        assert await platform.run("heard.map(([name, held]) => [name, held.reaction])") == [["feedback-loaded", "ok"]]


async def test_only_the_last_of_two_presses_is_thanked_for(platform: Platform) -> None:
    await platform.run("event(window.one = add(), 'feedback-loaded')")
    platform.taken()
    leave = [asyncio.Event(), asyncio.Event()]

    async def late(number: int) -> Any:
        await leave[number].wait()
        return 202, {"feedback_id": f"f-{number}"}

    platform.answer = lambda asked: late(len(platform.asked) - 1)
    await platform.run("() => { press(one, 0); press(one, 1); window.told = event(one, 'feedback'); }")
    leave[0].set()
    assert (await platform.run("told"))["reaction"] == "ok"
    assert await platform.run("[say(one), pressed(one)]") == ["", ["Bad answer"]]
    await platform.run("() => { window.told = event(one, 'feedback'); }")
    leave[1].set()
    assert (await platform.run("told"))["feedbackId"] == "f-1"
    assert await platform.run("say(one)") == "Thank you."
    assert [one.body["reaction"] for one in platform.asked] == ["ok", "not_ok"]


async def test_keys_in_the_form(platform: Platform) -> None:
    platform.holds({"reaction": "not_ok"})
    page = platform.page
    await platform.run("event(window.one = add(), 'feedback-loaded')")
    platform.taken()
    why, words = page.get_by_role("button", name="Say why"), page.get_by_role("textbox")
    assert await why.get_attribute("aria-expanded") == "false"
    await why.click()
    await expect(words).to_be_focused()
    assert await platform.run("texts(one, '[aria-expanded]', 'aria-expanded')") == ["true"]
    await page.keyboard.type("a")
    for key in ("Enter", "Control+a", "End", "b", "Shift+Enter", "Meta+b", "c"):
        await page.keyboard.press(key)
    await expect(words).to_be_visible()
    assert await words.input_value() == "a\nb\nc"
    assert platform.taken() == []
    await page.keyboard.press("Meta+Enter")
    await expect(page.get_by_role("status")).to_have_text("Thank you, noted.")
    await expect(page.get_by_role("button", name="Bad answer")).to_be_focused()
    assert [one.body["text"] for one in platform.taken()] == ["a\nb\nc"]

    await why.click()
    await expect(words).to_have_value("a\nb\nc")
    await page.get_by_role("button", name="Close").click()
    await expect(words).to_be_hidden()
    await expect(page.get_by_role("button", name="Bad answer")).to_be_focused()
    assert await why.get_attribute("aria-expanded") == "false"
    # A form that is closed while the person is elsewhere takes no focus.
    await why.click()
    await platform.run(
        """() => {
            document.body.append(document.createElement("input"));
            document.querySelector("input").focus();
            one.shadowRoot.querySelector(".end button").click();
        }"""
    )
    await expect(page.locator("input")).to_be_focused()
    assert platform.taken() == []


async def test_reasons_are_chosen_and_unchosen(platform: Platform) -> None:
    tags = (
        "[texts(one, '.tags button'), texts(one, '.tags [aria-pressed=true]'),"
        " texts(one, '.tags', 'aria-label'), shown(one, '.tags')]"
    )
    click = "number => { one.shadowRoot.querySelectorAll('.tags button')[number].click(); }"
    platform.holds({"reaction": "not_ok", "tags": ["off_topic"]})
    await platform.run("event(window.one = add(), 'feedback-loaded')")
    await platform.run("() => { one.shadowRoot.querySelector('[aria-expanded]').click(); }")
    offered = ["Wrong", "Off topic", "Incomplete", "Too long"]
    assert await platform.run(tags) == [offered, ["Off topic"], ["What was wrong with it?"], True]
    for number in (0, 1, 3):
        await platform.run(click, number)
    assert (await platform.run(tags))[1] == ["Wrong", "Too long"]
    platform.taken()
    await platform.run("(one.shadowRoot.querySelector('[type=submit]').click(), event(one, 'feedback'))")
    assert [one.body["tags"] for one in platform.taken()] == [["wrong", "too_long"]]

    await platform.run("() => { press(one, 0); }")
    assert await platform.run(tags) == [["Correct", "Helpful", "Well put"], [], ["What was good about it?"], True]
    await platform.run("() => { one.reasons = {ok: ['quick']}; }")
    await platform.run("(press(one, 0), event(one, 'feedback'))")
    assert await platform.run(tags) == [["quick"], [], ["What was good about it?"], True]
    await platform.run("(press(one, 1), event(one, 'feedback'))")
    assert await platform.run("[texts(one, '.tags button'), shown(one, '.tags')]") == [[], False]
    await platform.run("event(window.one = add({scale: '5'}), 'feedback-loaded')")
    await platform.run("() => { press(one, 0); }")
    assert await platform.run("[texts(one, '.tags button'), shown(one, '.tags'), shown(one, 'form')]") == [
        [], False, True,
    ]  # fmt: skip


async def test_each_text_has_a_name_in_labels(platform: Platform) -> None:
    everything = """() => {
        press(one, 1);
        const at = (path, name) => texts(one, path, name);
        return [at(".thumb", "aria-label"), at(".row", "aria-label"), at("[aria-expanded]"), at(".tags", "aria-label"),
                at("form > label"), at(".end button"), at(".tags button")].flat();
    }"""
    names = ["ok", "not_ok", "group", "why", "not_ok_why", "words", "correction", "close", "send"]
    names += ["wrong", "off_topic", "incomplete", "too_long"]
    await platform.run("labels => { window.one = add({labels}); }", {name: f"<{name}>" for name in names})
    assert await platform.run(everything) == [f"<{name}>" for name in names]
    plain = [
        "Good answer", "Bad answer", "Was this answer helpful?", "Say why", "What was wrong with it?",
        "In your own words (optional)", "What should the answer have been? (optional)", "Close", "Send",
        "Wrong", "Off topic", "Incomplete", "Too long",
    ]  # fmt: skip
    await platform.run("() => { window.one = add(); }")
    assert await platform.run(everything) == plain
    await platform.run("""() => { one.setAttribute("labels", '{"ok": "Gut"}'); }""")
    assert await platform.run(everything) == ["Gut", *plain[1:]]
    await platform.run("() => { one.labels = {not_ok: 'Schlecht'}; }")
    assert await platform.run(everything) == [plain[0], "Schlecht", *plain[2:]]
    assert await platform.run("texts(one, 'textarea', 'maxlength')") == ["10000", "10000"]


TOKEN = {"json": {"token": "from-url"}}


@pytest.mark.parametrize(
    ("given", "answers", "bearer"),
    [
        ("{token: 'ann'}", [], "Bearer ann"),
        ("{token: () => 'ann'}", [], "Bearer ann"),
        ("{token: 'ann', tokenUrl: '/token'}", [], "Bearer ann"),
        ("{token: () => 'ann', tokenUrl: '/token'}", [], "Bearer ann"),
        ("{token: async () => '', tokenUrl: '/token'}", [TOKEN], "Bearer from-url"),
        ("{tokenUrl: '/token'}", [TOKEN], "Bearer from-url"),
        ("{getToken: async () => 'ann'}", [], "Bearer ann"),
        ("{getToken: () => 'ann', token: 'bob', tokenUrl: '/token'}", [], "Bearer ann"),
        ("{getToken: () => null, tokenUrl: '/token'}", [], None),
        ("{getToken() { return this.turn; }}", [], "Bearer t-1"),
        ("{token: () => null}", [], None),
        ("{tokenUrl: '/token'}", [{"json": {}}] * 2, None),
        ("{}", [], None),
    ],
)
async def test_the_token_that_is_sent(
    platform: Platform, given: str, answers: list[dict[str, Any]], bearer: str | None
) -> None:
    platform.tokens = [*answers]
    await platform.run(f"event(window.one = add({given}), 'feedback-loaded')")
    await platform.run("(press(one), event(one, 'feedback'))")
    assert [(one.method, one.bearer) for one in platform.asked] == [("GET", bearer), ("POST", bearer)]
    assert platform.tokens == []


async def test_an_address_without_a_token_means_nobody_is_signed_in(platform: Platform) -> None:
    platform.tokens = [{"status": 403, **TOKEN}, TOKEN]
    await platform.run("() => { window.one = add({tokenUrl: '/token'}); }")
    await expect(platform.page.get_by_role("status")).to_have_text("Sign in to give feedback.")
    assert platform.asked == []
    await platform.run("one.reload()")
    assert [one.bearer for one in platform.asked] == ["Bearer from-url"]


async def test_a_token_is_kept_until_it_is_refused_or_another_way_is_set(platform: Platform) -> None:
    async def bearers() -> list[str | None]:
        await platform.run("one.reload()")
        return [one.bearer for one in platform.taken()]

    await platform.run(
        """() => {
            const tokens = ["", null, "ann", "bob"];
            window.one = add({getToken: async () => tokens.length ? tokens.shift() : Promise.reject("none")});
            return event(one, "feedback-loaded");
        }"""
    )
    assert [one.bearer for one in platform.taken()] == [None]
    assert [await bearers() for _ in range(3)] == [[None], ["Bearer ann"], ["Bearer ann"]]
    platform.answer = lambda asked: (401 if asked.bearer == "Bearer ann" else 200, {})
    assert [await bearers() for _ in range(2)] == [["Bearer ann", "Bearer bob"], ["Bearer bob"]]
    platform.answer = lambda asked: (401, {})
    assert [await bearers() for _ in range(2)] == [["Bearer bob"], []]
    platform.answer = lambda asked: (200, {})
    await platform.run("(one.getToken = () => 'cas', event(one, 'feedback-loaded'))")
    await platform.run("(one.getToken = null, one.token = 'dan', event(one, 'feedback-loaded'))")
    platform.tokens = [TOKEN, {"json": {"token": "second"}}]
    await platform.run("(one.token = null, one.tokenUrl = '/token', event(one, 'feedback-loaded'))")
    await platform.run("(one.tokenUrl = '/token', event(one, 'feedback-loaded'))")
    await platform.run("(one.labels = {}, event(one, 'feedback-loaded'))")
    assert [one.bearer for one in platform.taken()] == [
        "Bearer cas", "Bearer dan", "Bearer from-url", "Bearer second", "Bearer second",
    ]  # fmt: skip


async def test_elements_added_at_once_share_a_token_and_later_ones_do_not(platform: Platform) -> None:
    calls = await platform.run(
        """async () => {
            let calls = 0;
            const getToken = async () => `ann.${++calls}`;
            const other = async () => "bob";
            await Promise.all([load({getToken}), load({getToken}), load({getToken: other})]);
            await load({getToken});
            return calls;
        }"""
    )
    assert calls == 2
    assert sorted(str(one.bearer) for one in platform.taken()) == [
        "Bearer ann.1",
        "Bearer ann.1",
        "Bearer ann.2",
        "Bearer bob",
    ]


async def test_another_site_is_asked_only_with_a_way_to_a_token(platform: Platform) -> None:
    """Each of the three ways is enough."""
    platform.tokens = [TOKEN]
    await platform.run(
        """async () => {
            const base = "http://api.test";
            add({base});
            const ways = [{token: "ann"}, {getToken: () => "ann"}, {tokenUrl: "/token"}];
            for (const [number, way] of ways.entries()) await load({base, turn: `t-${number}`, ...way});
        }"""
    )
    assert [(one.path, one.bearer) for one in platform.asked] == [
        (f"http://api.test{FEEDBACK}".replace("t-1", f"t-{number}"), bearer)
        for number, bearer in enumerate(("Bearer ann", "Bearer ann", "Bearer from-url"))
    ]
