"""Alerts reach local receivers: once when they begin, once when they are over, with a link to exactly their turns."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import pytest
from prometheus_client import REGISTRY
from standardwebhooks import Webhook

from contracts.instants import DAY, MINUTE, SECOND
from reporting.alerts.evaluation import BEHIND, AlertEvaluator
from reporting.alerts.messages import Announcement
from reporting.alerts.sending import AlertSender
from reporting.alerts.store import AlertTransaction
from reporting.figures.gauges import FeedbackMetrics
from reporting.model.selection import HOUR, Project
from reporting.outbox.courier import AT_ONCE, CHANNELS_AT_ONCE, Courier
from reporting.outbox.sending import CheckedHttp
from reporting.outbox.store import Deliveries
from reporting.pages.routes import pages_router
from reporting.pages.visits import PageSources
from reporting.read_models.generation import Generation
from servicekit.db.database import Database
from tests.support.hand_clock import FixedClock
from tests.support.issue_turns import TOPICS, issue_job, rejected_turn
from tests.support.receiver import Receiver, Taken, receiver
from tests.support.reporting_client import client
from tests.support.reporting_events import START, Take, feedback
from tests.support.waits import PATIENCE_SECONDS

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
SLACK = "/services/T0/B0/slack-secret"
NOW = (START // DAY + 30) * DAY + 12 * HOUR
"""Noon of the day on which the tests look."""
BELOW: dict[str, Any] = {"name": "low", "kind": "satisfaction_below", "below": 0.8, "channels": ["hook"]}
AT = Project("acme", "support")


class Clock(FixedClock):
    """Clock that tests set."""

    def set(self, moment: int) -> None:
        self._now = moment


@pytest.fixture
async def there() -> AsyncIterator[Receiver]:
    async with receiver() as running:
        yield running


async def set_channels(pool: Database, there: Receiver, at: Project = AT) -> None:
    """Store a channel of each kind, and one whose address is not permitted."""
    for name, kind, path, private in (
        ("slack", "slack", SLACK, True),
        ("teams", "teams", "/workflows?sig=teams-secret", True),
        ("hook", "webhook", "/hook", True),
        ("inside", "slack", SLACK, False),
    ):
        await pool.execute(
            "insert into alert_channels values ($1, $2, $3, $4, $5, $6, 'https://feedback.example', $7)",
            *(*at, name, kind, there.url + path, SECRET if kind == "webhook" else "", private),
        )


async def set_rules(pool: Database, *rules: dict[str, Any], at: Project = AT) -> None:
    for rule in rules:
        await pool.execute("insert into alert_rules values ($1, $2, $3, $4)", *at, rule["name"], json.dumps(rule))


def courier_of(pool: Database, deliveries: Deliveries, clock: FixedClock) -> Courier:
    sender = AlertSender(pool, CheckedHttp(PATIENCE_SECONDS), clock, private=True)
    return Courier(deliveries, (), sender.send, clock, seconds=PATIENCE_SECONDS, pick=lambda: 0.0)


class Alerts:
    """Evaluator and courier on the read models, with a clock that tests set."""

    def __init__(self, pool: Database) -> None:
        self.clock = Clock(NOW)
        self.waiting = 0
        self.evaluator = AlertEvaluator(pool, self.clock, self._waiting)
        self.courier = courier_of(pool, Deliveries(pool), self.clock)

    async def _waiting(self) -> int:
        return self.waiting

    async def look(self, moment: int = NOW) -> None:
        """Evaluate the rules and send what is due."""
        self.clock.set(moment)
        await self.evaluator.evaluate()
        await self.courier.deliver()
        await self.courier.sent()


async def judged(take: Take, day: int, ok: int, not_ok: int, **fields: Any) -> None:
    """Write verdicts of the day that is `day` days before NOW's, from six o'clock on."""
    begin = ((NOW // DAY - day) * DAY + 6 * HOUR - START) / SECOND
    name = f"{day}-{fields.get('agent', '')}-{fields.get('project', '')}-{fields.get('agent_version', '')}"
    await take(
        *(
            feedback(
                f"{name}-{one}",
                kind="explicit",
                reaction="ok" if one < ok else "not_ok",
                conversation=f"c-{name}-{one}",
                user=f"u{one}",
                at=begin + one,
                text="zanzibar-secret-words",
                **fields,
            )
            for one in range(ok + not_ok)
        )
    )


def verified(one: Taken) -> Any:
    """Return the content of a webhook, whose signature is the standard's own."""
    moment = datetime.fromtimestamp(int(one.headers["webhook-timestamp"]), UTC)
    signed = Webhook(SECRET).sign(one.headers["webhook-id"], moment, one.body.decode())
    assert one.headers["webhook-signature"] == signed
    return json.loads(one.body)


async def turns_at(pool: Database, link: str) -> list[Any]:
    """Return the feedback behind an alert's link."""
    path = link.removeprefix("https://feedback.example")
    async with client([pages_router(PageSources(pool, pool, FixedClock(NOW)))]) as http:
        assert (await http.get(path)).status_code == 200
        rows = (await http.get(path.replace("/dashboard/feedback?", "/dashboard/feedback.csv?"))).text
    return list(csv.DictReader(io.StringIO(rows)))


async def test_an_alert_reaches_every_channel_once_and_so_does_its_end(
    read_models: Database, take: Take, there: Receiver
) -> None:
    await set_channels(read_models, there)
    await set_rules(read_models, BELOW | {"channels": ["slack", "teams", "hook"]})
    alerts = Alerts(read_models)
    await judged(take, 1, 40, 60, agent="bot <!channel>", agent_version="2.0")
    for _ in range(3):
        await alerts.look()
    other = Alerts(read_models)
    await other.look()  # another process, or the same one after a restart
    [slack] = there.at(SLACK)
    assert json.loads(slack.body)["text"] == "Alert: bot &lt;!channel&gt;: satisfaction is 40%, below 80%"
    [teams] = there.at("/workflows")
    card = json.loads(teams.body)["attachments"][0]["content"]
    assert card["body"][0]["text"] == r"Alert: bot \<\!channel\>: satisfaction is 40%, below 80%"
    [hook] = there.at("/hook")
    event = verified(hook)
    assert (event["type"], event["data"]["rule"]) == ("alert.fired", "low")
    assert "zanzibar" not in str(there.taken)

    path = event["data"]["link"]
    rejected = await turns_at(read_models, path)
    assert len(rejected) == 60 and {one["reaction"] for one in rejected} == {"not_ok"}
    assert len(await turns_at(read_models, path.replace("&reaction=not_ok", ""))) == 100  # all that it counted

    await judged(take, 0, 100, 0, agent="bot <!channel>", agent_version="2.0")
    await alerts.look(NOW + MINUTE)
    await other.look(NOW + MINUTE)
    assert [len(there.at(path)) for path in (SLACK, "/workflows", "/hook")] == [2, 2, 2]
    assert verified(there.at("/hook")[1])["data"]["key"] == event["data"]["key"]
    await alerts.look(NOW + 2 * MINUTE)
    assert len(there.at("/hook")) == 2


async def test_versions_and_silence_are_told_apart_and_tenants_kept_apart(
    read_models: Database, take: Take, there: Receiver
) -> None:
    await set_channels(read_models, there)
    quiet = {"name": "quiet", "kind": "silence", "hours": 6, "channels": ["hook"]}
    worse = {"name": "worse", "kind": "satisfaction_dropped", "per": "version", "channels": ["hook"]}
    await set_rules(read_models, quiet, worse)
    await set_rules(read_models, BELOW, at=Project("globex", "support"))
    alerts = Alerts(read_models)
    for day in range(14, 0, -1):
        await judged(take, day, 34, 6, agent="bot", agent_version="1")
    await judged(take, 1, 20, 40, agent="bot", agent_version="2")
    await alerts.look()
    links = {one["title"]: one["link"] for one in (json.loads(one.body)["data"] for one in there.at("/hook"))}
    assert sorted(links) == ["All agents: no feedback for 6 hours", "bot 2: satisfaction dropped from 85% to 33%"]
    missed = await turns_at(read_models, links["All agents: no feedback for 6 hours"])
    assert len(missed) == 40  # the verdicts of the week before
    await judged(take, 0, 1, 0, agent="bot", agent_version="1")
    await alerts.look()
    assert [json.loads(one.body)["type"] for one in there.at("/hook")][2:] == ["alert.over"]


async def test_issues_are_reported_once_with_exactly_their_turns(
    read_models: Database, take: Take, there: Receiver
) -> None:
    await set_channels(read_models, there)
    new = {"name": "new_issue", "kind": "new_issue", "people": 4, "channels": ["hook"]}
    await set_rules(read_models, new, {"name": "back", "kind": "regressed_issue", "channels": ["hook"]})
    alerts = Alerts(read_models)
    begin = (NOW - DAY - START) // SECOND
    refunds = [one for n in range(4) for one in rejected_turn(n, TOPICS[0], at=begin + 10 * n)]
    few = [one for n in range(10, 14) for one in rejected_turn(n, TOPICS[1], at=begin + 10 * n, user=f"p{n % 3}")]
    elsewhere = [one for n in range(20, 25) for one in rejected_turn(n, TOPICS[2], at=begin + n, project="sales")]
    await take(*refunds, *few, *elsewhere)
    await issue_job(read_models, NOW).catch_up()
    refund = await read_models.fetchval("select issue_id from issue_turns where turn_id = 't0'")

    def told() -> list[str]:
        return [f"{one['type']} {one['data']['title']}" for one in (json.loads(one.body) for one in there.at("/hook"))]

    for _ in range(2):
        await alerts.look()
    assert told() == [f"alert.fired bot: new issue {refund} affects 4 people"]
    assert "refund" not in str(there.taken)  # titles are people's words
    link = json.loads(there.at("/hook")[0].body)["data"]["link"]
    assert {one["turn_id"] for one in await turns_at(read_models, link)} == {"t0", "t1", "t2", "t3"}

    resolve = "update issues set state = 'resolved', state_at = $2 where id = $1"
    await read_models.execute(resolve, refund, NOW)
    await alerts.look(NOW + MINUTE)
    assert told()[1:] == [f"alert.over bot: new issue {refund} affects 4 people"]

    await take(*rejected_turn(30, TOPICS[0], at=begin + DAY // SECOND + 60))
    await issue_job(read_models, NOW + 2 * MINUTE).catch_up()
    for _ in range(2):
        await alerts.look(NOW + 2 * MINUTE)
    assert told()[2:] == [f"alert.fired bot: issue {refund} came back"]
    await read_models.execute(resolve, refund, NOW + 3 * MINUTE)
    await alerts.look(NOW + 3 * MINUTE)
    assert told()[3:] == [f"alert.over bot: issue {refund} came back"]
    await read_models.execute("update issues set state = 'open' where id = $1", refund)
    await alerts.look(NOW + 4 * MINUTE)
    assert len(told()) == 4  # it is not new


async def test_failed_messages_are_retried_and_an_end_waits_for_its_beginning(
    read_models: Database, take: Take, there: Receiver
) -> None:
    await set_channels(read_models, there)
    await set_rules(read_models, BELOW | {"channels": ["hook", "inside"]})
    alerts = Alerts(read_models)
    there.answers["/hook"] = 503
    await judged(take, 1, 40, 60)
    await alerts.look()
    await judged(take, 0, 100, 0)
    there.answers["/hook"] = 204
    await alerts.look(NOW + SECOND)  # the same minute, before the retry
    rows = await read_models.fetch("select receiver, attempts, last_answer from deliveries order by receiver, attempts")
    assert [tuple(row) for row in rows] == [
        ("hook", 0, None),
        ("hook", 1, "503"),
        ("inside", 0, None),
        ("inside", 1, "private_address"),
    ]
    await alerts.look(NOW + 10 * SECOND)
    assert [json.loads(one.body)["type"] for one in there.at("/hook")] == ["alert.fired", "alert.fired", "alert.over"]
    assert len({one.headers["webhook-id"] for one in there.at("/hook")}) == 2


async def test_a_slow_channel_delays_no_message_of_another_tenant(read_models: Database, there: Receiver) -> None:
    async def announce(key: str, tenant: str, project: str, channel: str) -> None:
        one = Announcement(key, "fired", f"{key} of {project}", "", "", tenant, project, "low", NOW)
        async with read_models.acquire() as connection:
            await AlertTransaction(connection, Project(tenant, project)).announce(one, [channel])

    slow, keys, projects = SLACK, AT_ONCE + 1, CHANNELS_AT_ONCE + 2
    there.held.add(slow)
    courier = Alerts(read_models).courier
    await set_channels(read_models, there, Project("globex", "support"))
    for project in range(projects):
        await set_channels(read_models, there, Project("acme", f"p{project}"))
        for key in range(keys):
            await announce(f"k{key}", "acme", f"p{project}", "slack")
    await courier.deliver()
    await there.until(slow, lambda taken: len(taken) == AT_ONCE * CHANNELS_AT_ONCE)
    await announce("k", "globex", "support", "hook")
    await courier.deliver()
    await there.until("/hook", bool)
    await courier.deliver()
    assert len(there.at(slow)) == AT_ONCE * CHANNELS_AT_ONCE, "a tenant's attempts are limited"
    there.released.set()
    await courier.sent()
    said = [json.loads(one.body)["text"] for one in there.at(slow)]
    assert sorted(said) == sorted(f"Alert: k{key} of p{project}" for key in range(keys) for project in range(projects))
    assert len(there.at("/hook")) == 1 and await read_models.fetchval("select count(*) from deliveries") == 0
    await courier.close()


async def test_no_rule_is_decided_while_the_reports_are_behind(
    read_models: Database, take: Take, there: Receiver
) -> None:
    await set_channels(read_models, there)
    await set_rules(read_models, BELOW)
    alerts = Alerts(read_models)
    await judged(take, 1, 40, 60)
    alerts.waiting = BEHIND + 1
    await alerts.look()
    assert there.taken == []
    alerts.waiting = BEHIND
    await alerts.look()
    assert len(there.taken) == 1


@pytest.mark.parametrize("unreadable", ["rule", "alert"])
async def test_a_project_that_cannot_be_evaluated_stops_no_other_and_keeps_its_alerts(
    read_models: Database, take: Take, unreadable: str
) -> None:
    def failures() -> float:
        return REGISTRY.get_sample_value("agent_feedback_alert_evaluation_failures_total") or 0

    first, last = Project("acme", "a"), Project("globex", "z")
    for project in (first, last):
        await set_rules(read_models, BELOW | {"channels": []}, at=project)
        await judged(take, 1, 40, 60, **project._asdict())
    alerts, before = Alerts(read_models), failures()
    await alerts.look()
    assert failures() == before
    if unreadable == "rule":
        await set_rules(read_models, {"name": "of a newer version", "kind": "x"}, at=first)
    else:
        await read_models.execute("update alerts set finding = '{\"x\": 1}' where tenant = 'acme'")
    await read_models.execute("delete from alert_rules where name = 'low'")
    await alerts.look(NOW + MINUTE)
    assert failures() == before + 1
    rows = await read_models.fetch("select tenant, over_at is null from alerts order by tenant")
    assert [tuple(row) for row in rows] == [("acme", True), ("globex", False)]


async def test_a_rebuild_raises_no_alert_again_and_an_erasure_ends_none(
    read_models: Database, take: Take, there: Receiver
) -> None:
    await set_channels(read_models, there)
    await set_rules(read_models, BELOW)
    alerts = Alerts(read_models)
    await judged(take, 1, 40, 60)
    await alerts.look()
    async with read_models.acquire() as connection:
        rebuilt = Generation(connection)
        await rebuilt.begin()
        await rebuilt.switch()  # nothing of the past is left in the log
    await judged(take, 1, 40, 60)
    await alerts.look()
    assert [json.loads(one.body)["type"] for one in there.at("/hook")] == ["alert.fired"]


async def test_each_open_alert_has_a_gauge(read_models: Database, take: Take) -> None:
    labels = {"tenant": "acme", "project": "support", "rule": "low", "kind": "satisfaction_below", "agent": "bot",
              "version": "", "issue": ""}  # fmt: skip
    await set_rules(read_models, BELOW | {"channels": []})
    alerts, metrics = Alerts(read_models), FeedbackMetrics(read_models, FixedClock(NOW))
    await judged(take, 1, 40, 60, agent="bot")
    await alerts.look()
    await metrics.update()
    assert REGISTRY.get_sample_value("agent_feedback_alert", labels) == 1
    await read_models.execute("delete from alert_rules")
    await alerts.look(NOW + MINUTE)
    await metrics.update()
    assert REGISTRY.get_sample_value("agent_feedback_alert", labels) is None
