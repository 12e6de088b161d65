"""Alerts reach local receivers: once when they begin, once when they are over, with a link to exactly their turns."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, nullcontext
from datetime import UTC, datetime
from email import message_from_bytes, policy
from email.message import EmailMessage
from functools import partial
from pathlib import Path
from typing import Any, cast

import pytest
from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session
from standardwebhooks import Webhook

from contracts.instants import DAY, MINUTE, SECOND
from reporting.alerts import sending
from reporting.alerts.digest import period_end
from reporting.alerts.evaluation import BEHIND, AlertEvaluator
from reporting.alerts.messages import Announcement
from reporting.alerts.rules import DeadLetters, Lag
from reporting.alerts.sending import AT_ONCE, RECEIVERS_AT_ONCE, AlertCourier
from reporting.alerts.settings_file import AlertSettings, EmailChannel, Every, read_alerts
from reporting.alerts.store import AlertMessages, AlertReceiver, AlertTransaction, WaitingMessage
from reporting.dashboard.routes import pages_router
from reporting.queries.selection import HOUR, Project
from reporting.read_models.generation import Generation
from servicekit import Database
from servicekit.clock import FixedClock
from servicekit.errors import StartError
from tests.support.issue_turns import TOPICS, issue_job, rejected_turn
from tests.support.receiver import Receiver, Taken, receiver
from tests.support.reporting_client import client
from tests.support.reporting_events import START, Take, feedback
from tests.support.secured_kafka import Certificates

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
PASSWORD = "a-secret-of-smtp"
NOW = (START // DAY + 30) * DAY + 12 * HOUR
"""Noon of the day on which the tests look."""
RULE = '[[project.rule]]\nname = "low"\nkind = "satisfaction_below"\nbelow = 0.8\nchannels = {channels}\n'


class Clock(FixedClock):
    """Clock that tests set."""

    def set(self, moment: int) -> None:
        self._now = moment


class Mailbox:
    """Handler of aiosmtpd that keeps e-mails and the logins of their senders."""

    def __init__(self) -> None:
        self.mails: list[EmailMessage] = []
        self.logins: list[tuple[bytes, bytes]] = []
        self.answer = "250 OK"

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:  # noqa: N802 # aiosmtpd
        if self.answer.startswith("250"):
            content = cast(bytes, envelope.content)
            self.mails.append(message_from_bytes(content, policy=policy.default))
        return self.answer

    def login(self, server: SMTP, session: Session, envelope: Envelope, mechanism: str, data: Any) -> AuthResult:
        assert isinstance(data, LoginPassword)
        self.logins.append((data.login, data.password))
        return AuthResult(success=data.password == PASSWORD.encode(), handled=False)


def file_of(folder: Path, there: Receiver, smtp_port: int, more: str = "") -> Path:
    """Write the file of alerts with a channel of each type, all on this machine."""
    file = folder / "alerts.toml"
    file.write_text(
        f"""address = "https://feedback.example"
[[channel]]
name = "slack"
type = "slack"
url_from = "SLACK_URL"
private = true
[[channel]]
name = "teams"
type = "teams"
url_from = "TEAMS_URL"
private = true
[[channel]]
name = "pager"
type = "pagerduty"
key_from = "PAGER_KEY"
url = "{there.url}/pager"
private = true
[[channel]]
name = "hook"
type = "webhook"
url = "{there.url}/hook"
secret_from = "HOOK_SECRET"
private = true
[[channel]]
name = "mail"
type = "email"
host = "127.0.0.1"
port = {smtp_port}
security = "none"
user = "alerts"
password_from = "SMTP_PASSWORD"
sender = "alerts@feedback.example"
to = ["support@feedback.example"]
private = true
[[channel]]
name = "inside"
type = "slack"
url_from = "INSIDE_URL"
{more}""",
        "utf-8",
    )
    return file


PLATFORM = '[[platform]]\nname = "letters"\nkind = "dead_letters"\nchannels = ["hook"]\n'


@pytest.fixture
async def there(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Receiver]:
    async with receiver() as running:
        for name, value in {
            "SLACK_URL": f"{running.url}/services/T0/B0/slack-secret",
            "TEAMS_URL": f"{running.url}/workflows?sig=teams-secret",
            "INSIDE_URL": f"{running.url.replace('http:', 'https:')}/services/T0/B0/slack-secret",
            "PAGER_KEY": "pager-secret",
            "HOOK_SECRET": SECRET,
            "SMTP_PASSWORD": PASSWORD,
        }.items():
            monkeypatch.setenv(name, value)
        yield running


@pytest.fixture
def mailbox() -> Mailbox:
    return Mailbox()


@asynccontextmanager
async def mail_server(mailbox: Mailbox, ssl: ssl.SSLContext | None = None, **options: Any) -> AsyncIterator[int]:
    """Serve SMTP on this machine and yield the port."""
    made = partial(SMTP, mailbox, hostname="here", authenticator=mailbox.login, **options)
    server = await asyncio.get_running_loop().create_server(made, "127.0.0.1", 0, ssl=ssl)
    async with server:
        yield server.sockets[0].getsockname()[1]


@pytest.fixture
async def smtp(mailbox: Mailbox) -> AsyncIterator[int]:
    async with mail_server(mailbox, auth_require_tls=False) as port:
        yield port


class Alerts:
    """Watch and courier on the read models, with a clock that tests set."""

    def __init__(self, pool: Database, settings: AlertSettings, health: Any = None) -> None:
        self.clock = Clock(NOW)
        self.waiting = 0
        self.pool = pool
        self.evaluator = AlertEvaluator(pool, settings, self.clock, health, self._waiting)
        self.courier = AlertCourier(settings, AlertMessages(pool), self.clock, seconds=5)

    async def _waiting(self) -> int:
        return self.waiting

    async def look(self, moment: int = NOW) -> None:
        """Look at the rules and send what is due."""
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
    async with client([pages_router(pool, FixedClock(NOW))]) as http:
        assert (await http.get(path)).status_code == 200
        lines = (await http.get(path.replace("/dashboard/feedback?", "/dashboard/feedback.jsonl?"))).text
    return [json.loads(line) for line in lines.splitlines()]


def project(channels: list[str], more: str = "") -> str:
    head = '[[project]]\ntenant = "acme"\nproject = "support"\n'
    return head + RULE.format(channels=json.dumps(channels)) + more


async def test_an_alert_reaches_every_channel_once_and_so_does_its_end(
    read_models: Database, take: Take, there: Receiver, mailbox: Mailbox, smtp: int, tmp_path: Path
) -> None:
    named = ["slack", "teams", "pager", "hook", "mail"]
    alerts = Alerts(read_models, read_alerts(file_of(tmp_path, there, smtp, project(named))))
    await judged(take, 1, 40, 60, agent="bot <!channel>", agent_version="2.0")
    for _ in range(3):
        await alerts.look()
    other = Alerts(read_models, read_alerts(file_of(tmp_path, there, smtp, project(named))))
    await other.look()  # another process, or the same one after a restart
    [slack] = there.at("/services/T0/B0/slack-secret")
    assert json.loads(slack.body)["text"] == "Alert: bot &lt;!channel&gt;: satisfaction is 40%, below 80%"
    [teams] = there.at("/workflows")
    card = json.loads(teams.body)["attachments"][0]["content"]
    assert card["body"][0]["text"] == r"Alert: bot \<\!channel\>: satisfaction is 40%, below 80%"
    [pager] = [json.loads(one.body) for one in there.at("/pager")]
    assert (pager["event_action"], pager["routing_key"]) == ("trigger", "pager-secret")
    [hook] = there.at("/hook")
    event = verified(hook)
    assert (event["type"], event["data"]["rule"], event["data"]["key"]) == ("alert.fired", "low", pager["dedup_key"])
    [mail] = mailbox.mails
    assert mail["Subject"].strip() == "[agent-feedback] Alert: bot <!channel>: satisfaction is 40%, below 80%"
    assert mail["To"] == "support@feedback.example" and mailbox.logins == [(b"alerts", PASSWORD.encode())]
    assert "zanzibar" not in str(there.taken) + mail.as_string()

    path = event["data"]["link"]
    rejected = await turns_at(read_models, path)
    assert len(rejected) == 60 and {one["reaction"] for one in rejected} == {"not_ok"}
    assert len(await turns_at(read_models, path.replace("&reaction=not_ok", ""))) == 100  # all that it counted

    await judged(take, 0, 100, 0, agent="bot <!channel>", agent_version="2.0")
    await alerts.look(NOW + MINUTE)
    await other.look(NOW + MINUTE)
    assert [json.loads(one.body)["event_action"] for one in there.at("/pager")] == ["trigger", "resolve"]
    assert json.loads(there.at("/pager")[1].body)["dedup_key"] == pager["dedup_key"]
    assert [len(there.at(path)) for path in ("/services/T0/B0/slack-secret", "/workflows", "/hook")] == [2, 2, 2]
    assert mailbox.mails[1]["References"] == mail["References"] and mailbox.mails[1]["Subject"].endswith("80%")
    await alerts.look(NOW + 2 * MINUTE)
    assert len(there.at("/hook")) == 2


async def test_versions_and_silence_are_told_apart_and_tenants_kept_apart(
    read_models: Database, take: Take, there: Receiver, tmp_path: Path
) -> None:
    rules = (
        '[[project.rule]]\nname = "quiet"\nkind = "silence"\nhours = 6\nchannels = ["hook"]\n'
        '[[project.rule]]\nname = "worse"\nkind = "satisfaction_dropped"\nper = "version"\nchannels = ["hook"]\n'
        '[[project]]\ntenant = "globex"\nproject = "support"\n' + RULE.format(channels='["hook"]')
    )
    head = '[[project]]\ntenant = "acme"\nproject = "support"\n'
    alerts = Alerts(read_models, read_alerts(file_of(tmp_path, there, 25, head + rules)))
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
    read_models: Database, take: Take, there: Receiver, tmp_path: Path
) -> None:
    head = '[[project]]\ntenant = "acme"\nproject = "support"\n'
    rules = "".join(
        f'[[project.rule]]\nname = "{kind}"\nkind = "{kind}"\nchannels = ["hook"]\n{more}'
        for kind, more in (("new_issue", "people = 4\n"), ("regressed_issue", ""))
    )
    alerts = Alerts(read_models, read_alerts(file_of(tmp_path, there, 25, head + rules)))
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


async def test_platform_rules_count_an_hours_letters_and_lasting_lag(
    read_models: Database, there: Receiver, tmp_path: Path
) -> None:
    health: dict[str, Mapping[str, int]] = {"lag": {"a": 6, "b": 6}, "dead_letters": {"invalid": 2}}

    async def asked() -> Mapping[str, Any]:
        return health

    more = PLATFORM + '[[platform]]\nname = "lag"\nkind = "lag"\nmore_than = 10\nminutes = 2\nchannels = ["hook"]\n'
    alerts = Alerts(read_models, read_alerts(file_of(tmp_path, there, 25, more)), asked)

    def said() -> list[str]:
        return [f"{one['type']} {one['data']['title']}" for one in (json.loads(one.body) for one in there.at("/hook"))]

    await alerts.look()
    assert said() == ["alert.fired 2 dead letters"]
    await alerts.look(NOW + 2 * MINUTE)
    assert said()[1:] == ["alert.fired 12 records are waiting in the log"]
    health["lag"] = {"a": 6}
    await alerts.look(NOW + 3 * MINUTE)
    assert said()[2:] == ["alert.over 12 records are waiting in the log"]
    for minute in range(4, 63):
        await alerts.look(NOW + minute * MINUTE)
    assert said()[3:] == ["alert.over 2 dead letters"]
    assert {type(rule) for rule in alerts.evaluator._settings.rules[None]} == {DeadLetters, Lag}


async def test_failed_messages_are_retried_and_an_end_waits_for_its_beginning(
    read_models: Database, take: Take, there: Receiver, tmp_path: Path
) -> None:
    alerts = Alerts(read_models, read_alerts(file_of(tmp_path, there, 25, project(["hook", "inside"]))))
    there.answers["/hook"] = 503
    await judged(take, 1, 40, 60)
    await alerts.look()
    await judged(take, 0, 100, 0)
    there.answers["/hook"] = 204
    await alerts.look(NOW + SECOND)  # the same minute, before the retry
    rows = await read_models.fetch(
        "select channel, attempts, last_answer from alert_messages order by channel, attempts"
    )
    assert [tuple(row) for row in rows] == [
        ("hook", 0, None),
        ("hook", 1, "503"),
        ("inside", 0, None),
        ("inside", 1, "private_address"),
    ]
    await alerts.look(NOW + 10 * SECOND)
    assert [json.loads(one.body)["type"] for one in there.at("/hook")] == ["alert.fired", "alert.fired", "alert.over"]
    assert len({one.headers["webhook-id"] for one in there.at("/hook")}) == 2


async def test_a_slow_channel_delays_no_message_of_another_tenant(
    read_models: Database, there: Receiver, tmp_path: Path
) -> None:
    async def announce(key: str, tenant: str, project: str, channel: str) -> None:
        one = Announcement(key, "fired", f"{key} of {project}", "", "", tenant, project, "low", NOW)
        async with read_models.acquire() as connection:
            await AlertTransaction(connection, Project(tenant, project)).announce(one, [channel], NOW)

    slow, keys, projects = "/services/T0/B0/slack-secret", 5, RECEIVERS_AT_ONCE + 2
    there.held.add(slow)
    courier = Alerts(read_models, read_alerts(file_of(tmp_path, there, 25))).courier
    for project in range(projects):
        for key in range(keys):
            await announce(f"k{key}", "acme", f"p{project}", "slack")
    await courier.deliver()
    await there.until(slow, lambda taken: len(taken) == AT_ONCE * RECEIVERS_AT_ONCE)
    await announce("k", "globex", "support", "hook")
    await courier.deliver()
    await there.until("/hook", bool)
    await courier.deliver()
    assert len(there.at(slow)) == AT_ONCE * RECEIVERS_AT_ONCE, "a tenant's attempts are limited"
    there.released.set()
    await courier.sent()
    said = [json.loads(one.body)["text"] for one in there.at(slow)]
    assert sorted(said) == sorted(f"Alert: k{key} of p{project}" for key in range(keys) for project in range(projects))
    assert len(there.at("/hook")) == 1 and await read_models.fetchval("select count(*) from alert_messages") == 0
    await courier.close()


async def test_an_error_of_the_database_is_raised_by_the_next_delivery(
    read_models: Database, there: Receiver, tmp_path: Path
) -> None:
    class Lost(AlertMessages):
        async def due(self, now: int) -> list[AlertReceiver]:
            return [AlertReceiver("hook", None, None)]

        async def claim(self, of: AlertReceiver, now: int, until: int, limit: int) -> list[WaitingMessage]:
            raise ConnectionError

    settings = read_alerts(file_of(tmp_path, there, 25))
    courier = AlertCourier(settings, Lost(read_models), Clock(NOW), seconds=5)
    for raises in (False, True, True):
        with pytest.raises(ConnectionError) if raises else nullcontext():
            await courier.deliver()
        await courier.sent()
    await courier.close()


async def test_an_error_with_one_message_does_not_abandon_the_other(
    read_models: Database, there: Receiver, tmp_path: Path
) -> None:
    class Failing(AlertMessages):
        failed_once = asyncio.Event()
        stored: tuple[str, ...] = ()

        async def delivered(self, one: WaitingMessage) -> None:
            if one.announcement.key == "k0":
                self.failed_once.set()
                raise ConnectionError
            await self.failed_once.wait()
            await super().delivered(one)
            self.stored += (one.announcement.key,)

    at = Project("acme", "support")
    for key in ("k0", "k1"):
        one = Announcement(key, "fired", key, "", "", *at, "low", NOW)
        async with read_models.acquire() as connection:
            await AlertTransaction(connection, at).announce(one, ["hook"], NOW)
    messages = Failing(read_models)
    courier = AlertCourier(read_alerts(file_of(tmp_path, there, 25)), messages, Clock(NOW), seconds=5)
    await courier.deliver()
    await courier.sent()
    assert messages.stored == ("k1",)
    with pytest.raises(ConnectionError):
        await courier.deliver()
    await courier.close()


async def test_no_rule_is_decided_while_the_reports_are_behind(
    read_models: Database, take: Take, there: Receiver, tmp_path: Path
) -> None:
    alerts = Alerts(read_models, read_alerts(file_of(tmp_path, there, 25, project(["hook"]))))
    await judged(take, 1, 40, 60)
    alerts.waiting = BEHIND + 1
    await alerts.look()
    assert there.taken == []
    alerts.waiting = BEHIND
    await alerts.look()
    assert len(there.taken) == 1


async def test_a_rebuild_raises_no_alert_again_and_an_erasure_ends_none(
    read_models: Database, take: Take, there: Receiver, tmp_path: Path
) -> None:
    alerts = Alerts(read_models, read_alerts(file_of(tmp_path, there, 25, project(["hook"]))))
    await judged(take, 1, 40, 60)
    await alerts.look()
    async with read_models.acquire() as connection:
        rebuilt = Generation(connection)
        await rebuilt.begin()
        await rebuilt.switch()  # nothing of the past is left in the log
    await judged(take, 1, 40, 60)
    await alerts.look()
    assert [json.loads(one.body)["type"] for one in there.at("/hook")] == ["alert.fired"]


async def test_a_rule_that_is_removed_ends_its_alerts(
    read_models: Database, take: Take, there: Receiver, tmp_path: Path
) -> None:
    await judged(take, 1, 40, 60)
    await Alerts(read_models, read_alerts(file_of(tmp_path, there, 25, project(["hook"])))).look()
    await Alerts(read_models, read_alerts(file_of(tmp_path, there, 25))).look(NOW + MINUTE)
    assert [json.loads(one.body)["type"] for one in there.at("/hook")] == ["alert.fired", "alert.over"]


async def test_an_alert_does_not_end_before_it_began(
    read_models: Database, take: Take, there: Receiver, smtp: int, tmp_path: Path
) -> None:
    file = file_of(tmp_path, there, smtp, project(["hook"]))
    alerts, slow = Alerts(read_models, read_alerts(file)), Alerts(read_models, read_alerts(file))
    await judged(take, 1, 40, 60, agent="bot")
    await alerts.look()
    await slow.look(NOW - 20 * DAY)  # a process whose clock is wrong, or the history of the sample
    rows = await read_models.fetch("select opened_at, over_at from alerts")
    assert [tuple(row) for row in rows] == [(NOW // MINUTE * MINUTE, None)]
    assert len(there.at("/hook")) == 1


async def test_a_digest_has_the_three_that_moved_most_and_is_sent_once(
    read_models: Database, take: Take, there: Receiver, tmp_path: Path
) -> None:
    head = '[[project]]\ntenant = "acme"\nproject = "support"\ndigest = { every = "day", channels = ["hook"] }\n'
    alerts = Alerts(read_models, read_alerts(file_of(tmp_path, there, 25, head)))
    for agent, before, after in (("a", 90, 10), ("b", 80, 40), ("c", 50, 80), ("d", 80, 55), ("e", 70, 71)):
        await judged(take, 2, before, 100 - before, agent=agent)
        await judged(take, 1, after, 100 - after, agent=agent)
    await alerts.look(NOW - 7 * HOUR)  # before the last day's digest is due
    for _ in range(2):
        await alerts.look()
    before, event = (json.loads(one.body) for one in there.at("/hook"))
    assert before["data"]["text"].endswith("\nNo agent or version changed significantly.")
    assert event["type"] == "alert.digest"
    assert event["data"]["text"].split("\n") == [
        "People: 500 verdicts, 51% satisfied.",
        "a: 90% to 10% (-80.0 points, people).",
        "b: 80% to 40% (-40.0 points, people).",
        "c: 50% to 80% (+30.0 points, people).",
    ]


@pytest.mark.parametrize("every", ["day", "week"])
async def test_the_latest_digest_of_a_period_compares_it_with_the_whole_period_before(
    every: Every, read_models: Database, take: Take, there: Receiver, tmp_path: Path
) -> None:
    head = f'[[project]]\ntenant = "acme"\nproject = "support"\ndigest = {{ every = "{every}", channels = ["hook"] }}\n'
    alerts = Alerts(read_models, read_alerts(file_of(tmp_path, there, 25, head)))
    end, length = period_end(every, NOW), {"day": DAY, "week": 7 * DAY}[every]
    for first, satisfied in ((end - 2 * length, 90), (end - length, 10)):
        await judged(take, (NOW - first) // DAY, satisfied, 100 - satisfied, agent="a")
    await alerts.look(end + length + 6 * HOUR - 1)
    (event,) = (json.loads(one.body) for one in there.at("/hook"))
    assert event["data"]["text"].split("\n")[1:] == ["a: 90% to 10% (-80.0 points, people)."]


def mail_of_test() -> EmailMessage:
    mail = EmailMessage()
    mail["From"], mail["To"], mail["Subject"] = "a@feedback.example", "b@feedback.example", "Test"
    return mail


@pytest.mark.parametrize("security", ["tls", "starttls"])
async def test_mail_is_encrypted_and_the_certificate_checked(
    security: str, mailbox: Mailbox, there: Receiver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    certificates = Certificates(tmp_path / "tls")
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificates.broker, certificates.broker_key)
    # aiosmtpd counts only STARTTLS as encryption.
    options: dict[str, Any] = {"tls_context": context, "require_starttls": True, "auth_required": True}
    if security == "tls":
        options = {"ssl": context, "auth_require_tls": False}

    async def here(host: str, port: int, *, private: bool) -> str:
        return "127.0.0.1"

    monkeypatch.setattr(sending, "address_of", here)
    async with mail_server(mailbox, **options) as port:
        text = file_of(tmp_path, there, port).read_text("utf-8").replace('"none"', f'"{security}"')
        for host, trusted, answer in (
            ("broker.test", True, "delivered"),
            ("other.test", True, "SSLCertVerificationError"),
            ("broker.test", False, "SSLCertVerificationError"),
        ):
            monkeypatch.setenv("SSL_CERT_FILE", str(certificates.ca) if trusted else "/nothing")
            (tmp_path / "alerts.toml").write_text(text.replace('host = "127.0.0.1"', f'host = "{host}"'), "utf-8")
            channel = read_alerts(tmp_path / "alerts.toml").channels["mail"]
            assert isinstance(channel.settings, EmailChannel)
            assert (await sending.send_mail(channel.settings, channel.secret, mail_of_test(), 5)).what == answer
    assert len(mailbox.mails) == 1 and mailbox.logins == [(b"alerts", PASSWORD.encode())]


async def test_failures_of_mail_are_named_without_secrets(
    read_models: Database, mailbox: Mailbox, smtp: int, there: Receiver, tmp_path: Path, caplog: Any
) -> None:
    settings = read_alerts(file_of(tmp_path, there, smtp))
    channel = settings.channels["mail"]
    assert isinstance(channel.settings, EmailChannel)
    mail = mail_of_test()

    async def answer(password: str = PASSWORD, **fields: Any) -> str:
        changed = cast(EmailChannel, channel.settings).model_copy(update=fields)
        return (await sending.send_mail(changed, password, mail, 5)).what

    mailbox.answer = "552 too large: " + PASSWORD
    assert await answer() == "552"
    assert await answer("wrong") == "535"
    assert await answer(port=1) == "ConnectionRefusedError"
    assert await answer(private=False) == "private_address"
    assert PASSWORD not in repr(settings) and "slack-secret" not in repr(settings)


class SlowMailbox(Mailbox):
    """Mailbox whose server waits for `answers` before it accepts a recipient."""

    def __init__(self) -> None:
        super().__init__()
        self.answers = asyncio.Event()
        self.ended = asyncio.Event()

    async def handle_RCPT(  # noqa: N802 # aiosmtpd
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        await self.answers.wait()
        envelope.rcpt_tos.append(address)
        return "250 OK"


async def test_a_mail_is_not_accepted_after_its_attempt_timed_out(there: Receiver, tmp_path: Path) -> None:
    slow = SlowMailbox()

    class Server(SMTP):
        def connection_lost(self, error: Exception | None) -> None:
            super().connection_lost(error)
            slow.ended.set()

    def made() -> Server:
        return Server(slow, hostname="here", authenticator=slow.login, auth_require_tls=False)

    server = await asyncio.get_running_loop().create_server(made, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        channel = read_alerts(file_of(tmp_path, there, port)).channels["mail"]
        assert isinstance(channel.settings, EmailChannel)
        assert (await sending.send_mail(channel.settings, channel.secret, mail_of_test(), 0.5)).what == "timeout"
        slow.answers.set()
        async with asyncio.timeout(10):
            await slow.ended.wait()
    assert slow.logins and slow.mails == []


@pytest.mark.parametrize("waits", ["the-answer", "the-handshake"])
async def test_a_slow_start_of_encryption_sends_nothing_after_the_timeout(
    waits: str, mailbox: Mailbox, there: Receiver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    certificates = Certificates(tmp_path / "tls")
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificates.broker, certificates.broker_key)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificates.ca))
    answers, ended = asyncio.Event(), asyncio.Event()

    class Server(SMTP):
        async def push(self, status: Any) -> None:
            starts = str(status).startswith("220 Ready")
            if starts and waits == "the-answer":
                await answers.wait()
            await super().push(status)
            if starts and waits == "the-handshake":
                await answers.wait()

        def connection_lost(self, error: Exception | None) -> None:
            super().connection_lost(error)
            ended.set()

    async def here(host: str, port: int, *, private: bool) -> str:
        return "127.0.0.1"

    def made() -> Server:
        return Server(mailbox, hostname="here", authenticator=mailbox.login, tls_context=context)

    monkeypatch.setattr(sending, "address_of", here)
    server = await asyncio.get_running_loop().create_server(made, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        text = file_of(tmp_path, there, port).read_text("utf-8").replace('"none"', '"starttls"')
        (tmp_path / "alerts.toml").write_text(text.replace('host = "127.0.0.1"', 'host = "broker.test"'), "utf-8")
        channel = read_alerts(tmp_path / "alerts.toml").channels["mail"]
        assert isinstance(channel.settings, EmailChannel)
        assert (await sending.send_mail(channel.settings, channel.secret, mail_of_test(), 1)).what == "timeout"
        answers.set()
        async with asyncio.timeout(10):
            await ended.wait()
    assert (mailbox.logins, mailbox.mails) == ([], [])


async def test_a_mail_that_was_accepted_does_not_fail_at_the_end_of_the_connection(
    mailbox: Mailbox, there: Receiver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuse(self: Any, server: SMTP, session: Session, envelope: Envelope) -> str:
        return "451 try again"

    monkeypatch.setattr(Mailbox, "handle_QUIT", refuse, raising=False)
    async with mail_server(mailbox, auth_require_tls=False) as port:
        channel = read_alerts(file_of(tmp_path, there, port)).channels["mail"]
        assert isinstance(channel.settings, EmailChannel)
        assert (await sending.send_mail(channel.settings, channel.secret, mail_of_test(), 5)).delivered
    assert len(mailbox.mails) == 1


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (project(["nobody"]), "low names the channel nobody, which is not in the file"),
        (project(["hook"]).replace("0.8", "1.8"), "below: Input should be less than 1"),
        (project(["hook"]).replace("below = 0.8", 'below = 0.8\ntypo = "x"'), "an unknown field"),
        (project(["hook"]) + RULE.format(channels="[]"), "two rules of a project have the same name"),
        (
            PLATFORM + '[[channel]]\nname = "hook"\ntype = "slack"\nurl_from = "SLACK_URL"',
            "two channels have the same name",
        ),
        (
            '[[channel]]\nname = "x"\ntype = "slack"\nurl_from = "SLACK_URL"',
            "The variable SLACK_URL must be an https URL",
        ),
        ('[[channel]]\nname = "x"\ntype = "slack"\nurl_from = "NO_SUCH_URL"', "Set NO_SUCH_URL to a secret"),
        (
            '[[channel]]\nname = "x"\ntenant = "globex"\ntype = "slack"\nurl_from = "SLACK_URL"\nprivate = true\n'
            + project(["x"]),
            "low names the channel x, which belongs to another tenant or project",
        ),
        (
            '[[project]]\ntenant = "acme"\nproject = "support"\ndigest = { every = "day", channels = ["pager"] }',
            "a digest would open an incident",
        ),
    ],
)
async def test_a_wrong_file_is_refused_with_the_place_and_no_secret(
    more: str, told: str, there: Receiver, tmp_path: Path
) -> None:
    file = file_of(tmp_path, there, 25, more)
    with pytest.raises(StartError) as refused:
        read_alerts(file)
    assert told in str(refused.value) and "secret" not in str(refused.value).replace("a secret", "")
    if "below:" in told:
        line = file.read_text("utf-8").splitlines().index("[[project.rule]]") + 1
        assert f"line {line}," in str(refused.value) or f"line {line + 3}," in str(refused.value)


def test_the_example_is_valid(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SUPPORT_SLACK_URL", "OPS_TEAMS_URL"):
        monkeypatch.setenv(name, "https://hooks.example/x")
    for name, value in {"OPS_PAGERDUTY_KEY": "k", "SMTP_PASSWORD": "p", "ALERTS_WEBHOOK_SECRET": SECRET}.items():
        monkeypatch.setenv(name, value)
    found = read_alerts(Path(__file__).parents[2] / "examples" / "alerts.toml")
    assert len(found.channels) == 5 and {rule.kind for rules in found.rules.values() for rule in rules} == {
        "satisfaction_below",
        "satisfaction_dropped",
        "silence",
        "new_issue",
        "regressed_issue",
        "dead_letters",
        "lag",
    }
