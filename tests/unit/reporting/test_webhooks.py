"""Webhooks: signatures that the standard's package accepts, receivers, retries, and forbidden addresses."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from standardwebhooks import Webhook, WebhookVerificationError

from contracts.instants import SECOND
from reporting.outbox.addresses import NotAllowed, address_of, is_public
from reporting.outbox.endpoints import read_endpoints, signing_key
from reporting.outbox.payload import body_of, headers_of
from reporting.outbox.schedule import LONGEST_ASKED, RETRY_DELAYS, next_attempt
from reporting.outbox.sending import AttemptResult, CheckedHttp, WebhookSender
from servicekit.errors import StartError
from tests.support.hand_clock import FixedClock
from tests.support.llm_server import LlmServer, llm_server, response

SECRET = "whsec_" + base64.b64encode(b"a key of twenty-four byte").decode()


OTHER = "whsec_" + base64.b64encode(b"another of twenty-four b.").decode()


KEY, OTHER_KEY = b"a key of twenty-four byte", b"another of twenty-four b."


EVENT = {"eventId": "e-1", "tenant": "acme", "project": "support", "feedbackId": "f-1", "text": "Nein, „falsch“ 👎"}


def now() -> int:
    """Return the time in microseconds; the verification rejects signatures older than five minutes."""
    return int(datetime.now(UTC).timestamp()) * SECOND


def test_the_standards_own_package_verifies_what_is_sent() -> None:
    body = body_of("feedback.created", 1_700_000_000_000_000, EVENT)
    headers = headers_of("e-1", body, [OTHER_KEY, KEY], now())
    assert Webhook(SECRET).verify(body, headers) == Webhook(OTHER).verify(body, headers)
    assert Webhook(SECRET).verify(body, headers) == {
        "type": "feedback.created",
        "timestamp": "2023-11-14T22:13:20.000000Z",
        "data": EVENT,
    }
    with pytest.raises(WebhookVerificationError):
        Webhook(SECRET).verify(body.replace(b"falsch", b"genau"), headers)
    with pytest.raises(WebhookVerificationError):
        Webhook(SECRET).verify(body, headers | {"webhook-id": "e-2"})


def test_tries_lie_further_and_further_apart_and_end() -> None:
    waits = [next_attempt(attempts, 0, 0, 0.0) for attempts in range(1, len(RETRY_DELAYS) + 2)]
    assert waits == [*(wait * SECOND for wait in RETRY_DELAYS), None]
    assert next_attempt(1, 10 * SECOND, 0, 1.0) == 16 * SECOND
    assert next_attempt(1, 0, 60, 0.0) == 60 * SECOND
    assert next_attempt(1, 0, 10**6, 0.0) == LONGEST_ASKED * SECOND


@pytest.mark.parametrize(
    ("address", "public"),
    [
        ("93.184.216.34", True),
        ("2606:2800:220:1:248:1893:25c8:1946", True),
        ("127.0.0.1", False),
        ("0.0.0.0", False),
        ("10.1.2.3", False),
        ("100.64.0.1", False),
        ("169.254.169.254", False),
        ("224.0.0.1", False),
        ("240.0.0.1", False),
        ("::1", False),
        ("fe80::1%eth0", False),
        ("fd00::1", False),
        ("ff02::1", False),
        ("::ffff:127.0.0.1", False),
        ("::ffff:169.254.169.254", False),
        ("64:ff9b::a9fe:a9fe", False),
        ("64:ff9b::5db8:d822", True),
        ("2002:7f00:1::", False),
        ("2002:5db8:d822::", True),
        ("2001:0:a00:1::a247:27dd", True),  # Teredo: the client is public
        ("2001:0:5db8:d822::f5ff:fffe", False),  # Teredo: the server is public, the client is 10.0.0.1
        ("4000::1", False),  # reserved
        ("192.0.0.192", False),  # the metadata of a cloud
        ("192.0.0.9", False),
        ("fec0::1", False),
        ("2001:db8::1", False),
        ("2001:20::1", False),
        ("5f00::1", False),
        ("64:ff9b:1::1", False),
        ("192.0.1.1", True),
        ("172.32.0.1", True),
        ("223.255.255.255", True),
        ("2606:4700::1111", True),
        ("2001:4860:4860::8888", True),
    ],
)
def test_addresses_that_are_not_on_the_internet(address: str, public: bool) -> None:
    assert is_public(address) is public


@pytest.mark.parametrize("host", ["localhost", "127.1", "2130706433", "0x7f000001", "::1"])
async def test_no_spelling_of_this_machine_is_let_through(host: str) -> None:
    try:
        await address_of(host, 443, private=False)
    except (NotAllowed, OSError):
        return
    pytest.fail("let through")


async def test_the_operator_may_allow_them() -> None:
    assert await address_of("127.0.0.1", 8080, private=True) == "127.0.0.1"


FILE = """
[[endpoint]]
name = "learner"
url = "https://learner.example/hooks?a=b"
tenant = "acme"
project = "support"
secrets = ["LEARNER_SECRET", "LEARNER_OLD_SECRET"]

[[endpoint]]
name = "crm"
url = "http://10.0.0.7:8080/"
private = true
tenant = "acme"
events = ["feedback.session.created"]
secrets = ["LEARNER_SECRET"]
"""


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEARNER_SECRET", SECRET)
    monkeypatch.setenv("LEARNER_OLD_SECRET", OTHER)
    monkeypatch.setenv("SHORT_SECRET", "whsec_" + base64.b64encode(b"short").decode())


def written(folder: Path, text: str) -> Path:
    path = folder / "webhooks.toml"
    path.write_text(text, "utf-8")
    return path


def test_who_wants_what(tmp_path: Path, environment: None) -> None:
    learner, crm = read_endpoints(written(tmp_path, FILE))
    assert [signing_key(name) for name in learner.secrets] == [KEY, OTHER_KEY]
    asked: list[tuple[Any, ...]] = [
        ("feedback.created", "acme", "support"),
        ("feedback.created", "acme", "sales"),
        ("feedback.created", "globex", "support"),
        ("feedback.session.created", "acme", None),
        ("feedback.session.created", "globex", None),
        ("feedback.erasure.requested", "acme", None),
        ("feedback.erasure.requested", "globex", None),
    ]
    assert [learner.wants(*one) for one in asked] == [True, False, False, False, False, True, False]
    assert [crm.wants(*one) for one in asked] == [False, False, False, True, False, True, False]


@pytest.mark.parametrize(
    ("before", "after", "why"),
    [
        ('"https://learner.example/hooks?a=b"', '"http://learner.example/"', "http is only allowed for private"),
        ('"https://learner.example/hooks?a=b"', '"https://ann:s3cr3t@learner.example/"', "without user name"),
        ('name = "crm"', 'name = "learner"', "of the same name"),
        ('project = "support"', 'project = "support"\nevents = ["feedback.session.created"]', "no project"),
        ('"LEARNER_OLD_SECRET"', '"NOT_SET_ANYWHERE"', "NOT_SET_ANYWHERE"),
        ('"LEARNER_OLD_SECRET"', '"SHORT_SECRET"', "SHORT_SECRET must be"),
        ("private = true", "privat = true", "unknown field"),
    ],
)
def test_a_file_that_is_not_sound_does_not_start(
    before: str, after: str, why: str, tmp_path: Path, environment: None
) -> None:
    assert before in FILE
    with pytest.raises(StartError, match=why) as refused:
        WebhookSender(read_endpoints(written(tmp_path, FILE.replace(before, after))), CheckedHttp(5), FixedClock(0))
    assert "s3cr3t" not in str(refused.value)


# Single attempts to deliver a webhook, against a real server on this machine.


@pytest_asyncio.fixture
async def receiver() -> AsyncIterator[LlmServer]:
    async with llm_server() as running:
        yield running


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("", 0),
        ("Retry-After: 120\r\n", 120),
        ("Retry-After: 999999\r\n", 999_999),
        ("Retry-After: 1000000\r\n", 0),
        ("Retry-After: -5\r\n", 0),
        ("Retry-After: Wed, 21 Oct 2026 07:28:00 GMT\r\n", 0),
    ],
)
async def test_a_receiver_may_name_the_seconds_until_the_next_attempt(
    receiver: LlmServer, header: str, seconds: int
) -> None:
    receiver.respond = lambda _: response(b"", 503, headers=header)
    http = CheckedHttp(5)
    found = await http.post(f"{receiver.url}/chat/completions", b"{}", {}, private=True)
    await http.close()
    assert found == AttemptResult("503", delivered=False, gone=False, retry_after=seconds)
