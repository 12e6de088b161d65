"""Keys of another service: every answer of that service, and how long an answer holds."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import httpx
import pytest

from contracts.access import OWN_CALLER
from servicekit.errors import Unavailable
from servicekit.web.auth import AnyOfLater, Caller
from servicekit.web.remote_keys import RemoteKeys
from tests.support.hand_clock import HandClock

OTHER_KEY, KEY = "afk_" + "s" * 43, "afk_" + "k" * 43
ANN = {"subject": "member:ann", "tenant": "acme", "projects": ["sales", "support"], "scopes": ["read"]}
HELD = Caller("member:ann", "acme", "sales", frozenset({"read"}), frozenset({"support"}), is_person=False)


class Reporting:
    """Stand-in for reporting that gives one answer to all requests, and keeps their tokens."""

    def __init__(self, answer: Callable[[], httpx.Response]) -> None:
        self.answer = answer
        self.asked: list[str] = []
        self.clock = HandClock()
        self.remote = RemoteKeys("http://reporting", self.clock, httpx.MockTransport(self._take))

    def _take(self, request: httpx.Request) -> httpx.Response:
        assert request.url.path == OWN_CALLER
        self.asked.append(request.headers["Authorization"].removeprefix("Bearer "))
        return self.answer()


def known(**changed: Any) -> httpx.Response:
    return httpx.Response(200, content=json.dumps(ANN | {"is_person": False} | changed))


def lost() -> httpx.Response:
    raise httpx.ConnectError("refused")


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (known, HELD),
        (lambda: known(tenant=None, projects=None), Caller("member:ann", scopes=HELD.scopes, is_person=False)),
        (lambda: httpx.Response(401), None),
        (lambda: httpx.Response(403), Unavailable),
        (lambda: httpx.Response(404), Unavailable),
        (lambda: httpx.Response(429), Unavailable),
        (lambda: httpx.Response(500), Unavailable),
        (lambda: httpx.Response(503), Unavailable),
        (lambda: httpx.Response(302, headers={"location": "/"}), Unavailable),
        (lambda: httpx.Response(200, content=b"<html>"), Unavailable),
        (lambda: httpx.Response(200, content=b"{}"), Unavailable),
        (lambda: known(projects=[]), Unavailable),
        (lambda: known(tenant="a/b"), Unavailable),
        (lost, Unavailable),
    ],
)
async def test_only_a_clear_answer_says_who_somebody_is(
    answer: Callable[[], httpx.Response], expected: Caller | type[Unavailable] | None
) -> None:
    """An invalid token is 401 to its holder, a service that does not answer 503: a client repeats the request."""
    remote = Reporting(answer).remote
    if expected is Unavailable:
        with pytest.raises(Unavailable):
            await remote.authenticate(OTHER_KEY)
    else:
        assert await remote.authenticate(OTHER_KEY) == expected
    await remote.close()


@pytest.mark.parametrize(
    "token", ["", "all", "afl_" + "x" * 43, "afk_" + "x" * 42, "afk_" + "x" * 44, OTHER_KEY + "\n"]
)
async def test_no_other_token_is_sent_to_reporting(token: str) -> None:
    reporting = Reporting(known)
    assert await reporting.remote.authenticate(token) is None
    assert reporting.asked == []


async def test_an_answer_holds_for_two_seconds_for_its_token_only() -> None:
    reporting = Reporting(known)
    assert await reporting.remote.authenticate(OTHER_KEY) == HELD
    reporting.answer = lambda: httpx.Response(401)
    assert await reporting.remote.authenticate(KEY) is None
    reporting.clock.forward(1.999)
    assert await reporting.remote.authenticate(OTHER_KEY) == HELD
    reporting.clock.forward(0.001)
    assert await reporting.remote.authenticate(OTHER_KEY) is None, "it was disabled meanwhile"
    assert await reporting.remote.authenticate(OTHER_KEY) is None
    assert reporting.asked == [OTHER_KEY, KEY, OTHER_KEY, OTHER_KEY], "refusals are not remembered"


async def test_a_closed_one_asks_nobody() -> None:
    reporting = Reporting(known)
    await reporting.remote.close()
    with pytest.raises(RuntimeError, match="closed"):
        await reporting.remote.authenticate(OTHER_KEY)


async def test_an_answer_does_not_outlive_an_outage() -> None:
    reporting = Reporting(known)
    assert await reporting.remote.authenticate(OTHER_KEY) == HELD
    reporting.clock.forward(2)
    reporting.answer = lost
    with pytest.raises(Unavailable):
        await reporting.remote.authenticate(OTHER_KEY)


class Knows:
    """Authenticator of one token."""

    async def authenticate(self, token: str) -> Caller | None:
        return HELD if token == OTHER_KEY else None


@pytest.mark.parametrize(
    ("started", "token", "expected"),
    [
        (None, OTHER_KEY, Unavailable), (None, KEY, Unavailable), (None, "other", None),
        ([], OTHER_KEY, None), ([Knows()], OTHER_KEY, HELD), ([Knows()], KEY, None), ([Knows()], "other", None),
    ],
)  # fmt: skip
async def test_a_session_is_unknown_until_the_services_have_started(
    started: Sequence[Knows] | None, token: str, expected: Caller | type[Unavailable] | None
) -> None:
    """A browser that reloads during a start stays signed in."""
    later = AnyOfLater(lambda: started)
    if expected is Unavailable:
        with pytest.raises(Unavailable):
            await later.authenticate(token)
    else:
        assert await later.authenticate(token) == expected
