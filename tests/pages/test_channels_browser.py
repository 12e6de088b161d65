"""A Slack channel is set on the alerts page, tested against a local receiver, used by a rule, and removed."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from cryptography.fernet import Fernet

from reporting.alerts.evaluation import AlertEvaluator
from reporting.alerts.messages import Announcement
from reporting.alerts.page_channels import MOST_CHANNELS, ChannelLocked, PageChannels
from reporting.alerts.sending import LOCKED_SECONDS, AlertCourier
from reporting.alerts.settings_file import AlertSettings
from reporting.alerts.store import AlertMessages, AlertTransaction, ChannelCount, message_counts
from reporting.egress.metrics import ALERT_MESSAGES, OTHER_CHANNELS
from reporting.parts import SCHEMA
from reporting.queries.selection import Project
from servicekit import Database
from servicekit.clock import SystemClock
from servicekit.db.pools import open_pool
from servicekit.errors import RequestRefused, StartError
from tests.support.axe import violations
from tests.support.chromium import expect, launched, needs_chromium, opened, picture
from tests.support.hand_clock import HandClock
from tests.support.perceivable import faint_texts
from tests.support.receiver import receiver
from tests.support.running_stack import RunningStack, exchange, running_stack
from tests.support.served import served

KEY = Fernet.generate_key().decode()
PAGE = "/dashboard/alerts?at=acme/support"
PUBLIC = "https://93.184.215.14/services/T0/B0/SECRET"


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def stack(postgres_url: str) -> AsyncIterator[RunningStack]:
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("REPORTING_SECRET_KEY", KEY)
        environment.setenv("REPORTING_PRIVATE_CHANNELS", "true")
        async with running_stack(postgres_url) as running:
            await running.publish(*exchange("c1", "t1"))
            await running.quiet()
            yield running


async def test_an_url_is_checked_and_never_shown(stack: RunningStack) -> None:
    async with stack.client("acme") as acme, stack.client("all") as local, stack.client("reviewer") as rita:
        private = {"channel": "team", "url": "http://127.0.0.1:9/SECRET"}
        for url in (
            "http://127.0.0.1:9/SECRET", "https://127.0.0.1/SECRET", "https://[::1]/SECRET", "https://10.0.0.1/SECRET",
            "https://169.254.169.254/SECRET", "https://localhost/SECRET", "http://93.184.215.14/SECRET",
            "https://[::ffff:127.0.0.1]/SECRET", "https://2130706433/SECRET", "https://user@93.184.215.14/SECRET",
            "https://93.184.215.14/SECRET#x", "ftp://93.184.215.14/SECRET", "https://93.184.215.14:99999/SECRET",
            "https:///SECRET", "SECRET", "https://no-such-name.invalid/SECRET", "https://x/" + "SECRET" * 400, "",
        ):  # fmt: skip
            refused = await acme.post(PAGE, data={"channel": "team", "url": url})
            assert 'class="nothing bad"' in refused.text and "SECRET" not in refused.text, url
        assert not await stack.rows("select 1 from reporting.alert_channels")
        assert (await rita.post(PAGE, data=private)).status_code == 403
        for name in ("", "a b", "x" * 65, "ä"):
            assert 'class="nothing bad"' in (await acme.post(PAGE, data={"channel": name, "url": PUBLIC})).text
        saved = await acme.post(PAGE, data={"channel": "team", "url": PUBLIC})
        assert "The channel team was saved" in saved.text
        [row] = await stack.rows("select url, private from reporting.alert_channels")
        assert b"SECRET" not in row["url"] and not row["private"]
        assert Fernet(KEY).decrypt(row["url"]) == PUBLIC.encode()
        for http in (acme, local, rita):
            for path in (PAGE, "/conversations/acme/support/alerts", "/dashboard/access"):
                assert "SECRET" not in (await http.get(path)).text
        assert (await acme.get("/dashboard/alerts?at=acme/sales")).status_code in (200, 404)
        other = await local.post("/conversations/acme/sales/alerts/tests", json={"channel": "team"})
        assert other.status_code == 404
        foreign = await acme.post("/dashboard/alerts?at=globex/support", data={"channel": "x", "url": PUBLIC})
        assert foreign.status_code == 404 and len(await stack.rows("select 1 from reporting.alert_channels")) == 1
        named = {"kind": "silence", "name": "few", "channels": ["team"]}
        assert (await acme.post("/conversations/acme/support/alerts/rules", json=named)).status_code == 200
        noted = await stack.rows("select action, about from reporting.access_log where about like 'channel%'")
        assert [tuple(one.values()) for one in noted] == [("changed rule", "channel team")]
        assert "was removed" in (await acme.post(PAGE, data={"remove_channel": "team"})).text
        assert "no channel with this name" in (await acme.post(PAGE, data={"remove_channel": "team"})).text


async def test_keys_are_rotated_and_a_lost_one_hides_the_channel(stack: RunningStack) -> None:
    at, clock = Project("acme", "rotated"), SystemClock()
    async with await open_pool(stack.database_url, "reporting", SCHEMA, size=1) as pool:
        before, second = PageChannels(pool, clock, KEY), Fernet.generate_key().decode()
        await before.set(at, "team", PUBLIC, "http://x", "ann", everywhere=False)
        found = await PageChannels(pool, clock, f"{second},{KEY}").find(at, "team")
        assert found is not None and found.secret == PUBLIC and "SECRET" not in repr(found)
        for key in (second, None):
            with pytest.raises(ChannelLocked):
                await PageChannels(pool, clock, key).find(at, "team")
            assert await PageChannels(pool, clock, key).of(at) == []
        for number in range(MOST_CHANNELS - 1):
            await before.set(at, f"c{number}", PUBLIC, "http://x", "ann", everywhere=False)
        await before.set(at, "team", PUBLIC + "2", "http://x", "ann", everywhere=False)
        with pytest.raises(Exception, match="at most"):
            await before.set(at, "more", PUBLIC, "http://x", "ann", everywhere=False)
        for wrong in ("", "short", KEY + ",", "x" * 44):
            with pytest.raises(StartError, match="REPORTING_SECRET_KEY"):
                PageChannels(pool, clock, wrong)


async def no_lag() -> int:
    return 0


async def test_alerts_of_rules_reach_the_channel_with_an_absolute_link(stack: RunningStack) -> None:
    at, clock = Project("acme", "alerting"), SystemClock()
    async with receiver() as there, await open_pool(stack.database_url, "reporting", SCHEMA, size=2) as pool:
        channels = PageChannels(pool, clock, KEY, private=True)
        await channels.set(at, "team", f"{there.url}/team", "https://feedback.example", "ann", everywhere=True)
        with pytest.raises(RequestRefused, match="https"):
            await channels.set(at, "other", f"{there.url}/team", "https://feedback.example", "ann", everywhere=False)
        evaluator = AlertEvaluator(pool, AlertSettings(), clock, None, no_lag)
        assert await evaluator._channels(at, ["team", "gone"]) == ["team"]
        assert await evaluator._channels(Project("acme", "other"), ["team"]) == []
        one = Announcement("k", "fired", "Low", "Figures.", "/dashboard/feedback?at=x", *at, "low", clock.now())
        async with pool.acquire() as connection:
            await AlertTransaction(connection, at).announce(one, ["team"], clock.now())
        courier = AlertCourier(AlertSettings(), AlertMessages(pool), clock, page_channels=channels)
        delivered = ALERT_MESSAGES.labels(OTHER_CHANNELS, "delivered")._value
        before = delivered.get()
        await courier.deliver()
        await courier.sent()
        [taken] = await there.until("/team", bool)
        assert (
            "<https://feedback.example/dashboard/feedback?at=x|" in json.loads(taken.body)["blocks"][0]["text"]["text"]
        )
        assert delivered.get() == before + 1
        await courier.close()


async def test_messages_wait_for_the_right_key(read_models: Database) -> None:
    at, clock = Project("acme", "support"), HandClock()
    async with receiver() as there:
        right, other = (Fernet.generate_key().decode() for _ in range(2))
        channels = PageChannels(read_models, clock, right, private=True)
        await channels.set(at, "team", f"{there.url}/team", "https://feedback.example", "ann", everywhere=True)
        one = Announcement("k", "fired", "Low", "Figures.", "/x", *at, "low", clock.now())
        async with read_models.acquire() as connection:
            await AlertTransaction(connection, at).announce(one, ["team"], clock.now())
        for key in [other, None] * 20 + [right]:
            locked = PageChannels(read_models, clock, key, private=True)
            courier = AlertCourier(AlertSettings(), AlertMessages(read_models), clock, page_channels=locked)
            await courier.deliver()
            await courier.sent()
            await courier.close()
            if key != right:
                assert await message_counts(read_models, at) == {"team": ChannelCount(1, 0, "wrong_secret_key")}
                clock.forward(LOCKED_SECONDS)
        assert len(there.at("/team")) == 1 and await message_counts(read_models, at) == {}


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
                assert (await http.post("/conversations/acme/support/alerts/rules", json=rule)).status_code == 200
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
        await page.click("button[name=remove_channel]")
        await page.wait_for_selector("text=The channel team was removed.")
        await page.fill("input[name=channel]", "gone")
        await page.fill("input[name=url]", f"{there.url.replace('http', 'https')}/SECRET")
        await page.click("text=Save, and send a test")
        await page.wait_for_selector(r"text=/The channel gone was saved, .* The test message was not delivered/")
        assert complaints == []
