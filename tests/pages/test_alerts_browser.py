"""The alerts page in Chromium: a rule is saved without a script of its own, and the page fits a phone."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import asyncpg
import pytest
import pytest_asyncio

from contracts.scopes import ADMIN
from reporting.alerts.administration import AlertAdministration
from reporting.alerts.channels import MOST_CHANNELS
from reporting.alerts.sending import AlertSender
from reporting.model.selection import Project
from reporting.outbox.sending import CheckedHttp
from servicekit.db.database import Database
from servicekit.db.row_security import READER
from servicekit.errors import RequestRefused
from servicekit.web.auth import Caller
from tests.support.axe import violations
from tests.support.chromium import expect, launched, needs_chromium, opened, picture
from tests.support.hand_clock import FixedClock
from tests.support.perceivable import faint_texts
from tests.support.receiver import receiver
from tests.support.running_stack import RunningStack, exchange, running_stack
from tests.support.served import served

# A channel is set on the alerts page, tested against a local receiver, used by a rule, and removed.

AT = Project("acme", "support")
NOW = FixedClock(0)


PAGE = "/dashboard/alerts?at=acme/support"
ALERTS = "/conversations/acme/support/alerts"


PUBLIC = "https://93.184.215.14/services/T0/B0/SECRET"


@asynccontextmanager
async def private_channels(postgres_url: str) -> AsyncIterator[RunningStack]:
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("REPORTING_PRIVATE_CHANNELS", "true")
        async with running_stack(postgres_url) as running:
            await running.publish(*exchange("c1", "t1"))
            await running.quiet()
            yield running


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def stack(postgres_url: str) -> AsyncIterator[RunningStack]:
    async with private_channels(postgres_url) as running:
        yield running


@pytest_asyncio.fixture(loop_scope="session")
async def own_stack(postgres_url: str) -> AsyncIterator[RunningStack]:
    """Yield a stack in which no other test sets channels."""
    async with private_channels(postgres_url) as running:
        yield running


async def test_an_url_is_checked_and_never_shown(own_stack: RunningStack) -> None:
    async with own_stack.client("acme") as acme, own_stack.client("all") as local, own_stack.client("reviewer") as rita:
        private = {"channel": "team", "channel_kind": "slack", "url": "http://127.0.0.1:9/SECRET"}
        for url in (
            "http://127.0.0.1:9/SECRET", "https://127.0.0.1/SECRET", "https://[::1]/SECRET", "https://10.0.0.1/SECRET",
            "https://169.254.169.254/SECRET", "https://localhost/SECRET", "http://93.184.215.14/SECRET",
            "https://[::ffff:127.0.0.1]/SECRET", "https://2130706433/SECRET", "https://user@93.184.215.14/SECRET",
            "https://93.184.215.14/SECRET#x", "ftp://93.184.215.14/SECRET", "https://93.184.215.14:99999/SECRET",
            "https:///SECRET", "SECRET", "https://no-such-name.invalid/SECRET", "https://x/" + "SECRET" * 400, "",
        ):  # fmt: skip
            refused = await acme.post(PAGE, data={"channel": "team", "channel_kind": "slack", "url": url})
            assert 'class="nothing bad"' in refused.text and "SECRET" not in refused.text, url
        assert not await own_stack.rows("select 1 from reporting.alert_channels")
        assert (await rita.post(PAGE, data=private)).status_code == 403
        wrong = await acme.post(PAGE, data={"channel": "team", "channel_kind": "pager", "url": PUBLIC})
        assert 'class="nothing bad"' in wrong.text
        for name in ("", "a b", "x" * 65, "ä"):
            assert (
                'class="nothing bad"'
                in (await acme.post(PAGE, data={"channel": name, "channel_kind": "slack", "url": PUBLIC})).text
            )
        saved = await acme.post(PAGE, data={"channel": "team", "channel_kind": "slack", "url": PUBLIC})
        assert "The channel team was saved" in saved.text
        [row] = await own_stack.rows("select url, private from reporting.alert_channels")
        assert (row["url"], row["private"]) == (PUBLIC, False)
        for http in (acme, local, rita):
            for path in (PAGE, "/conversations/acme/support/alerts", "/dashboard/access"):
                assert "SECRET" not in (await http.get(path)).text
        assert (await acme.get("/dashboard/alerts?at=acme/sales")).status_code in (200, 404)
        other = await local.post("/dashboard/alerts?at=acme/sales", data={"test": "team"})
        assert other.status_code == 404
        foreign = await acme.post(
            "/dashboard/alerts?at=globex/support", data={"channel": "x", "channel_kind": "slack", "url": PUBLIC}
        )
        assert foreign.status_code == 404 and len(await own_stack.rows("select 1 from reporting.alert_channels")) == 1
        named = {"kind": "silence", "name": "few", "channels": ["team"]}
        assert "was saved" in (await acme.post(PAGE, data=named)).text
        noted = await own_stack.rows("select action, about from reporting.access_log where about like 'channel%'")
        assert [tuple(one.values()) for one in noted] == [("changed rule", "channel team")]
        assert "was removed" in (await acme.post(PAGE, data={"remove_channel": "team"})).text
        assert "no channel with this name" in (await acme.post(PAGE, data={"remove_channel": "team"})).text


async def test_a_webhook_shows_its_key_once_and_keys_are_unlike(stack: RunningStack) -> None:
    form = {"channel": "hook", "channel_kind": "webhook", "url": PUBLIC}
    async with stack.client("acme") as http:
        keys = [re.findall(r"whsec_[A-Za-z0-9+/=]+", (await http.post(PAGE, data=form)).text) for _ in range(2)]
        assert [len(shown) for shown in keys] == [1, 1] and keys[0] != keys[1]
        [row] = await stack.rows("select secret from reporting.alert_channels where name = 'hook'")
        assert row["secret"] == keys[1][0]
        for path in (PAGE, "/conversations/acme/support/alerts"):
            assert "whsec_" not in (await http.get(path)).text
        assert "was removed" in (await http.post(PAGE, data={"remove_channel": "hook"})).text


async def test_readers_see_no_row_of_channels(stack: RunningStack) -> None:
    async with stack.client("acme") as http:
        await http.post(PAGE, data={"channel": "team", "channel_kind": "slack", "url": PUBLIC})
    connection = await asyncpg.connect(stack.database_url)
    try:
        await connection.execute(f"set role {READER}")
        await connection.execute("select set_config('agent_feedback.tenant', 'acme', false)")
        assert await connection.fetch("select * from reporting.alert_channels") == []
    finally:
        await connection.close()
    async with stack.client("acme") as http:
        await http.post(PAGE, data={"remove_channel": "team"})


def administration(pool: Database, *, private: bool = False) -> AlertAdministration:
    return AlertAdministration(
        pool, pool, AlertSender(pool, CheckedHttp(5), NOW, private=private), NOW, private=private
    )


async def test_a_project_has_a_limited_number_of_channels(read_models: Database) -> None:
    alerts, caller = administration(read_models), Caller("ann", "acme")
    for number in range(MOST_CHANNELS):
        await alerts.set_channel(AT, f"c{number}", "slack", PUBLIC, "http://x", caller)
    await alerts.set_channel(AT, "c0", "teams", PUBLIC, "http://x", caller)
    with pytest.raises(RequestRefused, match="at most"):
        await alerts.set_channel(AT, "more", "slack", PUBLIC, "http://x", caller)


@pytest.mark.parametrize("private", [True, False])
async def test_a_private_address_needs_the_setting_when_it_is_set_and_used(
    read_models: Database, private: bool
) -> None:
    async with receiver() as there:
        inside = ("team", "slack", f"{there.url}/SECRET", "http://x")
        allowed, everyone = administration(read_models, private=True), Caller("olga", scopes=frozenset({ADMIN}))
        for alerts, caller in (
            (allowed, Caller("ann", "acme", scopes=frozenset({ADMIN}))),
            (allowed, Caller("ann")),
            (administration(read_models), everyone),
        ):
            with pytest.raises(RequestRefused, match="https"):
                await alerts.set_channel(AT, *inside, caller)
        await allowed.set_channel(AT, *inside, everyone)
        result = await administration(read_models, private=private).test(AT, "team")
        assert (result.delivered, result.what == "private_address") == (private, not private)


@needs_chromium[0]
@needs_chromium[1]
async def test_a_test_message_reaches_a_local_receiver(stack: RunningStack) -> None:
    async def looked_at(page: Any, name: str) -> None:
        for width in (390, 1280):
            await page.set_viewport_size({"width": width, "height": 900})
            for scheme in ("dark", "light"):
                await page.emulate_media(color_scheme=scheme)
                await picture(page, f"channel-{name}-{scheme}-{width}")
                assert await faint_texts(page) == [], (name, scheme, width)
            assert await page.evaluate("document.documentElement.scrollWidth") <= width, name
        assert await violations(page) == [], name

    async with (
        receiver() as there,
        launched() as browser,
        served(stack.app()) as url,
        opened(browser) as (page, complaints),
    ):
        async with stack.client("acme") as http:
            for name in ("quiet", "silent"):
                rule = {"kind": "silence", "name": name}
                assert "was saved" in (await http.post(PAGE, data=rule)).text
        await page.goto(f"{url}/?token=all&at=acme/support")
        await page.click("nav.pages >> text=Alerts")
        await page.fill("input[name=channel]", "team")
        await page.fill("input[name=url]", f"{there.url}/services/T0/SECRET")
        await looked_at(page, "empty")
        await page.click("text=Save, and send a test")
        saved = (
            r"The channel team was saved, and \d rules announce in it\. The channel team accepted the test message\."
        )
        await page.wait_for_selector(f"text=/{saved}/")
        await expect(page.locator("li", has_text="quiet")).to_contain_text("team")
        await page.get_by_label("Channels of the rule quiet").click()
        await page.locator("li", has_text="quiet").get_by_label("team").uncheck()
        await page.locator("li", has_text="quiet").get_by_role("button", name="Save the channels").click()
        await page.wait_for_selector("text=Alerts of the rule quiet are shown on this page only.")
        await expect(page.locator("li", has_text="silent")).not_to_contain_text("Shown here only.")
        await page.click("text=Send a test")
        await page.wait_for_selector("text=The channel team accepted the test message.")
        [taken, again] = there.at("/services/T0/SECRET")
        assert again.body == taken.body
        said = json.loads(taken.body)
        assert "acme / support can reach this channel" in said["text"]
        assert f"<{url}/dashboard/alerts?at=acme/support|" in said["blocks"][0]["text"]["text"]
        assert "SECRET" not in await page.content()
        await looked_at(page, "saved")
        await page.click("summary[aria-label='Remove the channel team']")
        await page.click("button[name=remove_channel]")
        await page.wait_for_selector("text=The channel team was removed.")
        await page.fill("input[name=channel]", "gone")
        await page.fill("input[name=url]", f"{there.url.replace('http', 'https')}/SECRET")
        await page.click("text=Save, and send a test")
        await page.wait_for_selector(r"text=/The channel gone was saved, .* The test message was not delivered/")
        assert complaints == []


async def test_the_first_channel_comes_with_a_rule(stack: RunningStack) -> None:
    async with stack.client("acme") as acme:
        for rule in (await acme.get(ALERTS)).json()["rules"]:
            await acme.post(PAGE, data={"remove": rule["name"]})
        assert 'name="first_rule"' in (await acme.get(PAGE)).text
        saved = await acme.post(PAGE, data={"channel": "x", "channel_kind": "slack", "url": PUBLIC, "first_rule": "1"})
        assert "the rule satisfaction-dropped announces in it" in saved.text
        assert 'name="first_rule"' not in saved.text, "there is a rule"
        [rule] = (await acme.get(ALERTS)).json()["rules"]
        assert (rule["kind"], rule["channels"]) == ("satisfaction_dropped", ["x"])
