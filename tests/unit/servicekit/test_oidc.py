"""Client of an OpenID provider: key rotation, caching, faulty discovery documents, client authentication."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
import pytest_asyncio

from servicekit.errors import Unavailable
from servicekit.web.issuer_http import fetch_json
from servicekit.web.oidc import KEEP_SECONDS, RETRY_SECONDS, OpenIdProvider, is_of_sign_in
from servicekit.web.provider_settings import SignInSecrets
from tests.support import openid_provider as fake
from tests.support.hand_clock import HandClock
from tests.support.openid_provider import CLIENT, SECRET, parameters
from tests.support.served import a_page, answering, nowhere, silent, trickling

BACK = "http://localhost:9/answer"
SECRETS = SignInSecrets("state", "nonce", "verifier" * 6)
DISCOVERED = "/.well-known/openid-configuration"


@dataclass(frozen=True)
class Settings:
    issuer: str
    client_secret: str = SECRET
    label: str = "Acme"
    client_id: str = CLIENT
    scopes: str = "openid email"
    address: str = "http://localhost:9"


@pytest_asyncio.fixture(loop_scope="session")
async def provider() -> AsyncIterator[fake.OpenIdProvider]:
    async with fake.openid_provider() as running:
        running.redirect_uri = BACK
        yield running


def client(url: str, clock: HandClock | None = None, seconds: float = 5.0, **settings: Any) -> OpenIdProvider:
    return OpenIdProvider(Settings(url, **settings), BACK, clock or HandClock(), seconds)


async def refreshed(one: OpenIdProvider) -> None:
    """Wait for the fetch of a document that replaces a cached one."""
    assert one.refreshing is not None
    await one.refreshing


async def code_of(one: OpenIdProvider) -> str:
    async with httpx.AsyncClient() as http:
        return parameters((await http.get(await one.authorization_url(SECRETS))).headers["location"])["code"]


async def test_a_code_is_exchanged_with_the_verifier_and_works_once(provider: fake.OpenIdProvider) -> None:
    one = client(provider.url)
    asked = parameters(await one.authorization_url(SECRETS))
    assert asked["scope"] == "openid email" and SECRETS.verifier not in asked.values()
    code = await code_of(one)
    said = await one.claims(code, SECRETS)
    assert said is not None and said["sub"] == "ann-1"
    assert await one.claims(code, SECRETS) is None
    other = SignInSecrets(SECRETS.state, SECRETS.nonce, "stolen" * 8)
    assert await one.claims(await code_of(one), other) is None
    assert await one.claims(await code_of(one), SignInSecrets("state", "other", SECRETS.verifier)) is None


@pytest.mark.parametrize("methods", [["client_secret_basic"], ["client_secret_post"], None])
async def test_the_client_authenticates_as_the_provider_supports(
    provider: fake.OpenIdProvider, methods: list[str] | None
) -> None:
    provider.document["token_endpoint_auth_methods_supported"] = methods
    one = client(provider.url)
    assert await one.claims(await code_of(one), SECRETS) is not None
    wrong = client(provider.url, client_secret="wrong")
    with pytest.raises(Unavailable):
        await wrong.claims(await code_of(wrong), SECRETS)


async def test_a_rotated_key_is_fetched_once_a_token_names_it(provider: fake.OpenIdProvider) -> None:
    clock = HandClock()
    one = client(provider.url, clock)
    assert await one.claims(await code_of(one), SECRETS) is not None
    provider.key = "second"
    clock.forward(20)
    assert await one.claims(await code_of(one), SECRETS) is not None
    assert provider.asked.count("/jwks") == 2
    provider.key, provider.down = "third", {"/jwks"}
    clock.forward(20)
    with pytest.raises(Unavailable):
        await one.claims(await code_of(one), SECRETS)


@pytest.mark.parametrize("algorithm", ["ES256", "PS256", "EdDSA"])
async def test_other_algorithms_with_a_public_key_are_accepted(provider: fake.OpenIdProvider, algorithm: str) -> None:
    provider.algorithm, provider.key = algorithm, algorithm
    one = client(provider.url)
    assert await one.claims(await code_of(one), SECRETS) is not None


async def test_a_known_document_is_used_while_the_provider_is_down(provider: fake.OpenIdProvider) -> None:
    clock = HandClock()
    one = client(provider.url, clock)
    for _ in range(3):
        await one.authorization_url(SECRETS)
    assert provider.asked.count(DISCOVERED) == 1
    clock.forward(KEEP_SECONDS - 1)
    await one.authorization_url(SECRETS)
    assert one.refreshing is None, "it is not old yet"
    clock.forward(1)
    provider.down.add(DISCOVERED)
    await one.authorization_url(SECRETS)
    await refreshed(one)
    assert provider.asked.count(DISCOVERED) == 2
    await one.authorization_url(SECRETS)
    await refreshed(one)
    assert provider.asked.count(DISCOVERED) == 2, "after a failure there is a pause"
    clock.forward(RETRY_SECONDS)
    provider.down.clear()
    provider.document["authorization_endpoint"] = f"{provider.url}/elsewhere"
    assert "/elsewhere" not in await one.authorization_url(SECRETS)
    await refreshed(one)
    assert "/elsewhere" in await one.authorization_url(SECRETS)
    assert provider.asked.count(DISCOVERED) == 3


async def test_a_refused_document_invalidates_the_known_one(provider: fake.OpenIdProvider) -> None:
    clock = HandClock()
    one = client(provider.url, clock)
    await one.authorization_url(SECRETS)
    clock.forward(KEEP_SECONDS)
    provider.document["issuer"] = "https://other.example"
    await one.authorization_url(SECRETS)
    await refreshed(one)
    with pytest.raises(Unavailable):
        await one.authorization_url(SECRETS)


async def test_a_provider_that_hangs_delays_no_sign_in_with_a_known_document() -> None:
    asked = asyncio.Event()
    answers = True

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        if not answers:
            asked.set()
            await asyncio.Event().wait()
        places = ("authorization_endpoint", "token_endpoint", "jwks_uri")
        body = json.dumps({"issuer": url, **dict.fromkeys(places, url)}).encode()
        writer.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body))
        await writer.drain()

    clock = HandClock()
    async with answering(connected) as url:
        one = client(url, clock)
        await one.authorization_url(SECRETS)
        answers = False
        clock.forward(KEEP_SECONDS)
        for _ in range(3):
            await one.authorization_url(SECRETS)
            await asked.wait()
            assert one.refreshing is not None and not one.refreshing.done()
        assert one.refreshing is not None and one.refreshing.cancel()


async def test_after_a_failed_first_fetch_nobody_asks_the_provider_for_a_while(provider: fake.OpenIdProvider) -> None:
    clock = HandClock()
    one = client(provider.url, clock)
    provider.down.add(DISCOVERED)
    attempts = await asyncio.gather(*(one.authorization_url(SECRETS) for _ in range(3)), return_exceptions=True)
    assert [type(attempt) for attempt in attempts] == [Unavailable] * 3
    assert provider.asked.count(DISCOVERED) == 1
    clock.forward(RETRY_SECONDS)
    provider.down.clear()
    await one.authorization_url(SECRETS)


@pytest.mark.parametrize(
    "document",
    [{"issuer": "https://other.example"}, {"issuer": None}, {"token_endpoint": "ftp://x"}, {"jwks_uri": None},
     {"authorization_endpoint": "/authorize"}, {"token_endpoint_auth_methods_supported": "post"}],
    ids=str,
)  # fmt: skip
async def test_a_faulty_discovery_document_is_refused(provider: fake.OpenIdProvider, document: dict[str, Any]) -> None:
    provider.document = document
    clock = HandClock()
    one = client(provider.url, clock)
    with pytest.raises(Unavailable):
        await one.authorization_url(SECRETS)
    provider.document = {}
    clock.forward(RETRY_SECONDS)
    await one.authorization_url(SECRETS)


async def test_a_provider_that_does_not_answer_is_unavailable() -> None:
    with pytest.raises(Unavailable):
        await client(nowhere()).authorization_url(SECRETS)
    for misbehaves in (silent, trickling, a_page):
        async with answering(misbehaves) as url:
            with pytest.raises(Unavailable):
                await client(url, seconds=0.3).authorization_url(SECRETS)


async def test_requests_share_one_tls_context(provider: fake.OpenIdProvider, monkeypatch: pytest.MonkeyPatch) -> None:
    contexts: list[ssl.SSLContext] = []

    def made(*given: Any, **options: Any) -> ssl.SSLContext:
        contexts.append(httpx.create_ssl_context(*given, **options))
        return contexts[-1]

    monkeypatch.setattr("httpx._transports.default.create_ssl_context", made)
    for _ in range(3):
        await fetch_json(provider.url + DISCOVERED, 5.0)
    assert len(contexts) == 3 and len({id(one) for one in contexts}) == 1


async def test_an_answer_names_its_issuer_if_the_provider_says_so(provider: fake.OpenIdProvider) -> None:
    one = client(provider.url)
    assert [await one.is_issuer(named) for named in (provider.url, provider.url + "/", "", None)] == [True] + [
        False
    ] * 3
    provider.document["authorization_response_iss_parameter_supported"] = None
    other = client(provider.url)
    assert await other.is_issuer(None) and not await other.is_issuer("https://other.example")


async def test_a_provider_without_logout_has_no_address_for_it(provider: fake.OpenIdProvider) -> None:
    provider.document["end_session_endpoint"] = None
    assert await client(provider.url).logout_url() is None


def test_endpoints_of_a_provider_with_tls_need_tls() -> None:
    from servicekit.web.oidc import ProviderDocument, mismatch

    document = ProviderDocument(
        issuer="https://id.example",
        jwks_uri="https://id.example/jwks",
        authorization_endpoint="https://id.example/authorization",
        token_endpoint="https://id.example/token",
    )
    assert mismatch(document, "https://id.example") == ""
    for name in ("authorization_endpoint", "token_endpoint", "jwks_uri"):
        open_to_all = document.model_copy(update={name: "http://id.example/"})
        assert mismatch(open_to_all, "https://id.example") != ""


@pytest.mark.parametrize(
    ("said", "fits"),
    [({}, True), ({"azp": "me"}, True), ({"aud": ["me"]}, True), ({"aud": ["me", "other"], "azp": "me"}, True),
     ({"aud": ["me", "other"]}, False), ({"azp": "other"}, False), ({"azp": ["me"]}, False), ({"nonce": "m"}, False),
     ({"nonce": None}, False), ({"nonce": ["n"]}, False), ({"nonce": "\udcff"}, False)],
    ids=str,
)  # fmt: skip
def test_claims_are_of_one_sign_in_of_this_client(said: dict[str, Any], fits: bool) -> None:
    assert is_of_sign_in({"aud": "me", "nonce": "n", **said}, "me", "n") is fits
