"""The alerts page and its HTTP API: rules are set and removed, channels tested, and nothing secret is shown."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from contracts.instants import DAY
from contracts.scopes import ADMIN
from reporting.alerts.administration import MOST_RULES, AlertAdministration
from reporting.alerts.evaluation import AlertEvaluator
from reporting.alerts.rules import MOST_CHANNELS_OF_RULE
from reporting.alerts.sending import AlertSender
from reporting.http.alerts import alerts_router
from reporting.model.selection import Project
from reporting.outbox.sending import CheckedHttp
from reporting.pages.routes import pages_router
from reporting.pages.visits import PageSources
from servicekit.db.database import Database
from servicekit.web.auth import Caller
from tests.support.hand_clock import FixedClock
from tests.support.receiver import Receiver, receiver
from tests.support.reporting_client import client
from tests.support.reporting_events import START, Take, feedback
from tests.support.waits import PATIENCE_SECONDS

NOW = FixedClock(START + DAY)
AT = Project("acme", "support")
ALERTS = "/conversations/acme/support/alerts"
OPERATOR = Caller("olga", scopes=frozenset({ADMIN}))
PAGE = "/dashboard/alerts?at=acme/support"
FORM = {"kind": "satisfaction_below", "name": "low", "below": "80", "agent": "", "per": "agent", "channels": "team"}


@pytest.fixture
async def there() -> AsyncIterator[Receiver]:
    async with receiver() as running:
        yield running


class Site:
    """Pages, API and evaluation on the read models."""

    def __init__(self, pool: Any) -> None:
        sender = AlertSender(pool, CheckedHttp(5), NOW, private=True)
        self.administration = AlertAdministration(pool, pool, sender, NOW, private=True)
        self.evaluator = AlertEvaluator(pool, NOW, self._waiting)
        self.routers = [
            alerts_router(self.administration),
            pages_router(PageSources(pool, pool, NOW, alerts=self.administration)),
        ]

    async def _waiting(self) -> int:
        return 0

    async def set_channels(self, there: Receiver) -> None:
        """Set the channel of our projects, and one of another tenant."""
        for at, name in ((AT, "team"), (Project("acme", "sales"), "team"), (Project("globex", "support"), "others")):
            url = f"{there.url}/team-secret"
            await self.administration.set_channel(at, name, "slack", url, "https://feedback.example", OPERATOR)

    def client(self, token: str = "all") -> httpx.AsyncClient:
        return client(self.routers, token)


@pytest.fixture
async def site(read_models: Database, take: Take, there: Receiver) -> Site:
    await take(
        *(
            feedback(
                f"f{n}", kind="explicit", reaction="not_ok", turn=f"t{n}", user=f"u{n}", at=n, text="private-words"
            )
            for n in range(60)
        )
    )
    site = Site(read_models)
    await site.set_channels(there)
    return site


async def test_rules_are_set_read_and_removed(site: Site) -> None:
    async with site.client() as http:
        for below in ("80", "70"):
            assert "The rule low was saved." in (await http.post(PAGE, data=FORM | {"below": below})).text
        found = (await http.get(ALERTS)).json()
        assert [(rule["name"], rule["below"]) for rule in found["rules"]] == [("low", 0.7)]
        assert [one["name"] for one in found["channels"]] == ["team"]
        assert "secret" not in json.dumps(found) and "http" not in json.dumps(found["channels"])
        assert "The rule low was removed." in (await http.post(PAGE, data={"remove": "low"})).text
        assert (await http.get(ALERTS)).json()["rules"] == []


async def test_a_project_has_a_limited_number_of_rules(site: Site, read_models: Database) -> None:
    for n in range(MOST_RULES):
        rule = json.dumps({"kind": "silence", "name": f"r{n}"})
        await read_models.execute("insert into alert_rules values ('acme', 'support', $1, $2)", f"r{n}", rule)
    async with site.client() as http:
        assert "remove one first" in (await http.post(PAGE, data=FORM)).text
        assert "The rule r1 was saved." in (await http.post(PAGE, data=FORM | {"name": "r1"})).text


async def test_other_tenants_and_readers_change_and_see_nothing(site: Site) -> None:
    async with site.client() as http:
        await http.post(PAGE, data=FORM)
    await site.evaluator.evaluate()
    async with site.client("globex") as http:
        for form in (FORM, {"remove": "low"}, {"test": "team"}):
            assert (await http.post(PAGE, data=form)).status_code in (403, 404)
        assert (await http.get(ALERTS)).status_code == 403
        assert (await http.get(PAGE)).status_code == 404
    async with site.client("acme") as http:  # reads only
        assert (await http.post(PAGE, data=FORM)).status_code == 403
        page = (await http.get(PAGE)).text
        assert "low" in page and "Save the rule" not in page and "Send a test" not in page
        assert "agent-a: satisfaction is 0%" in page and "private-words" not in page


async def test_the_page_sets_a_rule_shows_its_alert_and_tests_a_channel(site: Site, there: Receiver) -> None:
    async with site.client() as http:
        page = (await http.post(PAGE, data=FORM)).text
        assert "The rule low was saved." in page and "Satisfaction with each agent is below 80%" in page
        await site.evaluator.evaluate()
        page = (await http.get(PAGE)).text
        assert "agent-a: satisfaction is 0%, below 80%" in page
        path = (await http.get(ALERTS)).json()["alerts"][0]["path"]
        assert path.replace("&", "&amp;") in page and (await http.get(path)).status_code == 200
        page = (await http.post(PAGE, data={"test": "team"})).text
        assert "The channel team accepted the test message." in page
        [taken] = there.at("/team-secret")
        assert json.loads(taken.body)["text"] == "Test: acme / support can reach this channel"
        there.answers["/team-secret"] = 404
        page = (await http.post(PAGE, data={"test": "team"})).text
        assert "The test message was not delivered: 404." in page and "team-secret" not in page
        assert "There is no channel with this name." in (await http.post(PAGE, data={"test": "others"})).text
        page = (await http.post(PAGE, data={"remove": "low"})).text
        assert "The rule low was removed." in page


async def test_a_project_sends_ten_tests_a_minute(site: Site, there: Receiver) -> None:
    async with site.client() as http:
        pages = [(await http.post(PAGE, data={"test": "team"})).text for _ in range(11)]
        assert ["accepted the test message" in page for page in pages] == [True] * 10 + [False]
        assert "may send 10 test messages a minute" in pages[-1] and len(there.at("/team-secret")) == 10
    assert (await site.administration.test(Project("acme", "sales"), "team")).delivered


async def test_an_alert_about_an_issue_leads_to_it(site: Site, read_models: Database) -> None:
    async with site.client() as http:
        await http.post(PAGE, data={"kind": "regressed_issue", "name": "back"})
        await read_models.execute(
            "insert into issues (tenant, project, agent_id, encoder, state, state_at, turns, people, first_at)"
            " values ('acme', 'support', 'agent-a', 'e', 'regressed', $1, 2, 1, $1)",
            START,
        )
        await site.evaluator.evaluate()
        [alert] = (await http.get(ALERTS)).json()["alerts"]
        assert alert["issue"] is not None and alert["title"] == f"agent-a: issue {alert['issue']} came back"
        assert f"/dashboard/issue?at=acme%2Fsupport&amp;issue={alert['issue']}" in (await http.get(PAGE)).text


async def test_the_channels_of_a_rule_are_changed(site: Site) -> None:
    ticked = '<input type="checkbox" name="channels" value="team" checked>'
    kinds = 5
    """Kinds of rules with a form; a form for a rule that does not exist yet has all channels ticked."""

    async def rules() -> dict[str, Any]:
        return {rule["name"]: rule for rule in (await http.get(ALERTS)).json()["rules"]}

    async with site.client() as http:
        await http.post(PAGE, data=FORM | {"channels": []})
        page = (await http.get(PAGE)).text
        assert "No rule of this project announces in it." in page
        assert page.count("Save the channels") == 1
        assert page.count(ticked) == kinds
        page = (await http.post(PAGE, data={"rule": "low", "channels": "team"})).text
        assert "Alerts of the rule low are announced in team." in page
        assert "No rule of this project announces in it." not in page
        assert page.count(ticked) == kinds + 1
        assert ((await rules())["low"]["channels"], (await rules())["low"]["below"]) == (["team"], 0.8)
        for form, told in (
            ({"rule": "nothing"}, "There is no rule with this name."),
            ({"rule": "low", "channels": "others"}, "channels: must be names of channels of this project."),
            ({"rule": "low", "channels": ["team"] * 11}, "channels: a rule has at most 10."),
        ):
            assert told in (await http.post(PAGE, data=form)).text, form
        assert (await rules())["low"]["channels"] == ["team"]
        page = (await http.post(PAGE, data={"rule": "low"})).text
        assert "Alerts of the rule low are shown on this page only." in page
        assert page.count(ticked) == kinds
        assert (await rules())["low"]["channels"] == []
    async with site.client("acme") as http:  # reads only
        assert "Save the channels" not in (await http.get(PAGE)).text
        assert (await http.post(PAGE, data={"rule": "low", "channels": "team"})).status_code == 403


async def test_a_rule_that_is_removed_meanwhile_stays_removed(site: Site, read_models: Database) -> None:
    async with site.client() as http:
        await http.post(PAGE, data=FORM | {"channels": []})
        async with read_models.acquire() as connection:
            async with connection.transaction():
                await connection.execute("delete from alert_rules where name = 'low'")
                changing = asyncio.create_task(http.post(PAGE, data={"rule": "low", "channels": "team"}))
                async with asyncio.timeout(PATIENCE_SECONDS):
                    while not await connection.fetchval("select count(*) from pg_locks where not granted"):
                        await asyncio.sleep(0.01)
            assert "There is no rule with this name" in (await changing).text
        assert await read_models.fetchval("select count(*) from alert_rules") == 0


async def test_all_rules_with_room_announce_in_a_channel(site: Site, read_models: Database) -> None:
    full = [f"c{n}" for n in range(MOST_CHANNELS_OF_RULE)]
    for name in full:
        url = "https://93.184.215.14/x"
        await site.administration.set_channel(AT, name, "slack", url, "https://feedback.example", OPERATOR)
    for name, chosen in (("few", []), ("gone", ["c1", "removed"]), ("full", full), ("has", ["team"])):
        rule = json.dumps({"kind": "silence", "name": name, "channels": chosen})
        await read_models.execute("insert into alert_rules values ('acme', 'support', $1, $2)", name, rule)
    for _ in range(2):
        assert await site.administration.add_channel_to_all_rules(AT, "team", "ann") == 3
        rules = {rule.name: rule.channels for rule in (await site.administration.overview(AT))["rules"]}
        assert rules == {"few": ("team",), "gone": ("c1", "team"), "full": tuple(full), "has": ("team",)}
    noted = await read_models.fetch("select about from access_log where about not like 'channel %' order by about")
    assert [row["about"] for row in noted] == ["few", "gone"]


@pytest.mark.parametrize(
    ("form", "told"),
    [
        (FORM | {"below": "120"}, "below: Input should be less than 1"),
        (FORM | {"below": "high"}, "The form could not be read."),
        (FORM | {"channels": "others"}, "channels: must be names of channels of this project."),
        ({"remove": "nothing"}, "There is no rule with this name"),
        ({"kind": "<script>"}, "rule: Input tag"),
    ],
)
async def test_a_wrong_form_is_refused_on_the_page(site: Site, form: dict[str, str], told: str) -> None:
    async with site.client() as http:
        page = await http.post(PAGE, data=form)
        assert page.status_code == 200 and told in page.text and "<script>" not in page.text
        assert (await http.get(ALERTS)).json()["rules"] == []


async def test_concurrent_looks_open_one_alert(site: Site, read_models: Database) -> None:
    async with site.client() as http:
        await http.post(PAGE, data=FORM)
    await asyncio.gather(*(site.evaluator.evaluate() for _ in range(4)))
    assert await read_models.fetchval("select count(*) from alerts where tenant = 'acme'") == 1
    assert await read_models.fetchval("select count(*) from deliveries") == 1
