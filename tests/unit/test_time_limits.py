"""Every documented time limit except the retention of tables: one moment on each side of the boundary."""

from __future__ import annotations

import hashlib
import hmac
import time
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from chat_bridge.sources.slack_workspace import SIGNATURE
from chat_bridge.sources.source import SignedRequest
from chat_bridge.sources.webhook_map import Signature
from chat_bridge.sources.webhook_signature import is_signed
from contracts.instants import format_instant
from contracts.topics import TOPICS
from servicekit.log.records import Received, Unreadable, read
from servicekit.web.issuers import Issuer as IssuerSettings
from tests.support.issuer import Issuer, accepting, issuer
from tests.support.logs import NOW, example, raw

SECOND = 1_000_000
FIVE_MINUTES = 300 * SECOND


@pytest_asyncio.fixture
async def source() -> AsyncIterator[Issuer]:
    async with issuer() as running:
        running.add("rsa")
        yield running


@pytest.mark.parametrize(
    ("claims", "known"),
    [
        ({"exp": -25}, True),
        ({"exp": -35}, False),
        ({"nbf": 25}, True),
        ({"nbf": 35}, False),
        ({"iat": 25}, True),
        ({"iat": 35}, False),
    ],
)
async def test_tokens_have_a_leeway_of_30_seconds(source: Issuer, claims: dict[str, int], known: bool) -> None:
    authenticator = accepting(source, leeway_seconds=IssuerSettings.model_fields["leeway_seconds"].default)
    said: dict[str, Any] = {name: int(time.time()) + seconds for name, seconds in claims.items()}
    assert (await authenticator.authenticate(source.token("rsa", **said)) is not None) == known


@pytest.mark.parametrize(("leeway", "known"), [(0, False), (300, True)])
async def test_the_leeway_and_the_claims_are_the_files(source: Issuer, leeway: int, known: bool) -> None:
    fields = {"leeway_seconds": leeway, "tenant_claim": "org", "scope_claim": "permissions"}
    expired: dict[str, Any] = {"exp": int(time.time()) - 100, "tenant": None, "scope": None}
    token = source.token("rsa", **expired, org="globex", permissions="read")
    caller = await accepting(source, **fields).authenticate(token)
    assert (caller is not None) == known
    assert caller is None or (caller.tenant, {*caller.scopes}) == ("globex", {"read"})


@pytest.mark.parametrize(("age", "known"), [(300, True), (301, False), (-300, True), (-301, False)])
def test_signed_requests_are_refused_beyond_five_minutes(age: int, known: bool) -> None:
    now = 1_700_000_000
    stamp = str(now - age)
    digest = hmac.new(b"secret", f"v0:{stamp}:body".encode(), hashlib.sha256).hexdigest()
    headers = {"x-slack-signature": f"v0={digest}", "x-slack-request-timestamp": stamp}
    assert is_signed(SIGNATURE, b"secret", SignedRequest(headers, b"body", now * SECOND)) == known
    how = Signature(kind="hmac-sha256", secret="SECRET", header="x-signature", signed="{timestamp}.{body}",
                    timestamp_header="x-time")  # fmt: skip
    digest = hmac.new(b"secret", f"{stamp}.body".encode(), hashlib.sha256).hexdigest()
    headers = {"x-signature": digest, "x-time": stamp}
    assert is_signed(how, b"secret", SignedRequest(headers, b"body", now * SECOND)) == known


@pytest.mark.parametrize(("ahead", "readable"), [(FIVE_MINUTES, True), (FIVE_MINUTES + 1, False)])
def test_an_event_may_be_five_minutes_ahead_of_the_log(ahead: int, readable: bool) -> None:
    topic = "chat.message.ingested"
    record = raw(topic, example(topic, "human", occurredAt=format_instant(NOW + ahead)))
    found = read(record, {one.name: one.event for one in TOPICS})
    assert isinstance(found, Received) == readable
    if isinstance(found, Unreadable):
        assert found.reason == "future"
