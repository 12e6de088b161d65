"""Acceptance of an issuer's tokens, and their callers."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import json
import time
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any

import httpx
import jwt
import pytest
import pytest_asyncio
from cryptography.hazmat.primitives import serialization
from jwt.warnings import InsecureKeyLengthWarning

from servicekit.errors import StartError, Unavailable
from servicekit.settings import read_settings
from servicekit.web.auth import AccessToken, AnyOfLater, Caller
from servicekit.web.auth_settings import AuthSettings, authenticator_for, issuers_of
from servicekit.web.issuers import IssuersFile
from servicekit.web.remote_keys import OWN_CALLER, RemoteKeys
from servicekit.web.tokens import IssuerKeys, TokenAuthenticator
from tests.support.hand_clock import HandClock
from tests.support.issuer import ISSUER, Issuer, accepting, issuer, issuers_file, key_for, public_jwk, settings_of

NOW = int(time.time())


@pytest_asyncio.fixture
async def source() -> AsyncIterator[Issuer]:
    async with issuer() as running:
        running.add("rsa", "RS256")
        yield running


@pytest.mark.parametrize("algorithm", ["RS256", "PS384", "ES256", "ES384", "EdDSA"])
async def test_a_sound_token_names_its_caller(source: Issuer, algorithm: str) -> None:
    source.add("mine", algorithm)
    caller = await accepting(source, algorithms=[algorithm]).authenticate(source.token("mine"))
    assert caller == Caller("ann", "acme", "support", frozenset({"ingest", "on_behalf"}))
    assert caller.may_touch("acme", "support")
    assert not caller.may_touch("acme", "sales")
    assert not caller.may_touch("globex", "support")


@pytest.mark.parametrize(
    "claims",
    [
        {"exp": NOW - 1},
        {"exp": None},
        {"nbf": NOW + 86_400},
        {"iat": NOW + 86_400},
        {"iss": "https://elsewhere.example"},
        {"aud": "another"},
        {"aud": None},
        {"sub": None},
        {"sub": "x" * 257},
        {"sub": "new\nline"},
        {"tenant": None},
        {"tenant": "*"},
        {"tenant": "a/b"},
        {"project": None},
    ],
)
async def test_a_token_with_a_wrong_claim_is_refused(source: Issuer, claims: dict[str, Any]) -> None:
    taking = accepting(source)
    assert await taking.authenticate(source.token("rsa")) is not None
    # PyJWT's own encoder refuses some of these, as an attacker's would not.
    said = {name: value for name, value in {**Issuer.claims(), **claims}.items() if value is not None}
    token = jwt.api_jws.encode(
        json.dumps(said).encode(), source.keys["rsa"][1], "RS256", headers={"kid": "rsa", "typ": "JWT"}
    )
    assert await taking.authenticate(token) is None


async def test_several_audiences_every_project_and_scopes_as_a_list(source: Issuer) -> None:
    token = source.token("rsa", aud=["other", "agent-feedback"], project="*", scope=["erase", 7])
    caller = await accepting(source).authenticate(token)
    assert caller == Caller("ann", "acme", None, frozenset({"erase"}))


@pytest.mark.parametrize(
    ("named", "tenant", "project", "seen"),
    [
        ("platform", "platform", "*", Caller("ann", None, None, frozenset({"admin"}))),
        ("platform", "platform", "support", None),
        ("platform", "acme", "*", Caller("ann", "acme", None, frozenset({"admin"}))),
        (None, "platform", "*", Caller("ann", "platform", None, frozenset({"admin"}))),
    ],
)
def test_one_name_may_stand_for_all_tenants(named: str | None, tenant: str, project: str, seen: Caller | None) -> None:
    claims = {"sub": "ann", "tenant": tenant, "project": project, "scope": "admin"}
    settings = settings_of(Issuer("http://127.0.0.1:9/keys"), all_tenants=named)
    assert settings.caller(claims) == seen


async def test_the_public_key_is_no_secret(source: Issuer) -> None:
    """A token that is signed with the public key as an HMAC secret, or not signed, is rejected."""
    taking = accepting(source)
    assert await taking.authenticate(source.token("rsa")) is not None
    public = source.keys["rsa"][1].public_key()
    forms = [
        public.public_bytes(encoding, serialization.PublicFormat.SubjectPublicKeyInfo)
        for encoding in (serialization.Encoding.PEM, serialization.Encoding.DER)
    ]
    for secret in (*forms, b""):
        assert await taking.authenticate(_hand_made({"alg": "HS256", "kid": "rsa"}, secret)) is None
    for name in ("none", "None", "NONE", "RS256", ""):
        assert await taking.authenticate(_hand_made({"alg": name, "kid": "rsa"}, None)) is None
    signed = source.token("rsa")
    assert await taking.authenticate(signed.rpartition(".")[0] + ".") is None


def _hand_made(header: dict[str, Any], secret: bytes | None) -> str:
    parts = [json.dumps(part).encode() for part in (header, Issuer.claims())]
    signing = b".".join(base64.urlsafe_b64encode(part).rstrip(b"=") for part in parts)
    signature = b"" if secret is None else hmac.new(secret, signing, hashlib.sha256).digest()
    return (signing + b"." + base64.urlsafe_b64encode(signature).rstrip(b"=")).decode()


async def test_a_key_serves_its_own_kind_only(source: Issuer) -> None:
    source.add("ec", "ES256")
    taking = accepting(source, algorithms=["RS256", "ES256", "ES384"])
    assert await taking.authenticate(source.token("ec")) is not None
    private = source.keys["rsa"][1]
    crossed = jwt.encode(Issuer.claims(), private, "RS256", headers={"kid": "ec"})
    assert await taking.authenticate(crossed) is None
    not_listed = jwt.encode(Issuer.claims(), private, "RS512", headers={"kid": "rsa"})
    assert await taking.authenticate(not_listed) is None
    another_key = jwt.encode(Issuer.claims(), key_for("RS256"), "RS256", headers={"kid": "rsa"})
    assert await taking.authenticate(another_key) is None
    critical = source.token("rsa", headers={"crit": ["exp"]})
    assert await taking.authenticate(critical) is None


async def test_a_key_that_names_its_algorithm_serves_no_other(source: Issuer) -> None:
    key = source.keys["rsa"][1]
    source.answer = json.dumps({"keys": [public_jwk(key, "rsa", alg="PS256")]}).encode()
    taking = accepting(source, algorithms=["RS256", "PS256"])
    assert await taking.authenticate(jwt.encode(Issuer.claims(), key, "PS256", headers={"kid": "rsa"})) is not None
    assert await taking.authenticate(source.token("rsa")) is None


async def test_a_token_cannot_bring_its_own_key(source: Issuer) -> None:
    key = key_for("RS256")
    jwk = public_jwk(key, "mine")
    for headers in ({"jwk": jwk}, {"jku": source.url}, {"jwk": jwk, "kid": "rsa"}, {"kid": "../rsa"}):
        assert await accepting(source).authenticate(_encode(key, headers)) is None


def _encode(key: Any, headers: dict[str, Any]) -> str:
    return jwt.api_jws.encode(json.dumps(Issuer.claims()).encode(), key, "RS256", headers=headers)


@pytest.mark.parametrize(
    "token", ["", "x", "a.b", "a.b.c.d", "....", "\x00", "é.é.é", "a" * 20_000, "eyJ9.e30.", "bnVsbA.bnVsbA.bnVsbA"]
)
async def test_what_is_no_token_is_refused_without_asking_anybody(source: Issuer, token: str) -> None:
    assert await accepting(source).authenticate(token) is None
    assert source.asked == 0


async def test_keys_are_kept_and_an_unknown_key_is_not_asked_for_at_each_token(source: Issuer) -> None:
    taking = accepting(source)
    for _ in range(3):
        assert await taking.authenticate(source.token("rsa")) is not None
    source.add("next")
    stranger = jwt.encode(Issuer.claims(), key_for("RS256"), "RS256", headers={"kid": "stranger"})
    for _ in range(20):
        assert await taking.authenticate(source.token("next")) is None
        assert await taking.authenticate(stranger) is None
    assert source.asked == 1, "asked again within ten seconds of the last time"


async def test_a_token_of_another_issuer_costs_no_fetch(source: Issuer) -> None:
    assert await accepting(source).authenticate(source.token("rsa", iss="https://elsewhere.example")) is None
    assert source.asked == 0


@pytest.mark.parametrize(
    ("status", "answer"),
    [
        (500, None),
        (302, None),
        (200, b""),
        (200, b"[]"),
        (200, b'{"keys": 7}'),
        (200, b'{"keys": []}'),
        (200, b"\xff"),
        (200, b"[" * 100_000),
    ],
)
async def test_an_issuer_that_fails_is_asked_again_after_ten_seconds(
    source: Issuer, status: int, answer: bytes | None
) -> None:
    clock = HandClock()
    taking = TokenAuthenticator(settings_of(source), clock, seconds=20)
    source.status, source.answer = status, answer
    token = source.token("rsa")
    for _ in range(3):
        with pytest.raises(Unavailable, match="issuer"):
            await taking.authenticate(token)
    assert source.asked == 1
    source.status, source.answer = 200, None
    clock.forward(10)
    assert await taking.authenticate(token) is not None
    assert await taking.authenticate("no token") is None


async def test_an_issuer_that_does_not_answer_is_waited_for_three_seconds_once(source: Issuer) -> None:
    keys = IssuerKeys(source.url, HandClock(), seconds=0.2)
    source.gate.clear()
    callers = await asyncio.gather(*(keys.key("rsa") for _ in range(20)), return_exceptions=True)
    assert all(isinstance(caller, Unavailable) for caller in callers)
    assert source.asked == 1


async def test_weak_and_symmetric_keys_verify_nothing(source: Issuer) -> None:
    good, weak = key_for("RS256"), key_for("RS256", bits=1_024)
    keys = [
        public_jwk(weak, "weak"),
        {**public_jwk(good, "enc"), "use": "enc"},
        {"kty": "oct", "k": "c2VjcmV0", "kid": "oct", "alg": "HS256"},
        public_jwk(good, "good"),
    ]
    source.answer = json.dumps({"keys": keys}).encode()
    taking = accepting(source)
    assert await taking.authenticate(jwt.encode(Issuer.claims(), good, "RS256", headers={"kid": "good"})) is not None
    assert await taking.authenticate(jwt.encode(Issuer.claims(), good, "RS256", headers={"kid": "enc"})) is None
    with pytest.warns(InsecureKeyLengthWarning):
        signed = _encode(weak, {"kid": "weak"})
    assert await taking.authenticate(signed) is None
    assert await taking.authenticate(_hand_made({"alg": "HS256", "kid": "oct"}, b"secret")) is None


@pytest.mark.parametrize("algorithms", [["HS256"], ["none"], ["RS256", "HS512"], []])
def test_algorithms_without_a_public_key_cannot_be_configured(tmp_path: Path, algorithms: list[str]) -> None:
    file = issuers_file(tmp_path, jwks_url="https://i.example/keys", more=f"algorithms = {json.dumps(algorithms)}")
    with pytest.raises(StartError, match="algorithms"):
        IssuersFile.read(file)


GROUPS = """
name_claim = "email"
[[issuer.group]]
value = "leads"
role = "reviewer"
projects = ["acme/support", "acme/sales"]
[[issuer.group]]
value = "staff"
role = "reader"
projects = ["acme/*"]
"""


ANN = {"email": "Ann@Example.org", "email_verified": True}


@pytest.mark.parametrize(
    ("claims", "projects", "scopes"),
    [
        ({"groups": "staff"}, None, {"read"}),
        ({"groups": ["staff"]}, None, {"read"}),
        ({"groups": ["staff", "leads"]}, ["sales", "support"], {"read", "review"}),
        ({"groups": ["leads"], "tenant": "globex", "scope": "admin"}, ["sales", "support"], {"read", "review"}),
        ({"groups": ["lead"]}, None, None),
        ({"groups": "staff leads"}, None, None),
        ({"groups": []}, None, None),
        ({"groups": {"leads": 1}}, None, None),
        ({"groups": [["leads"]]}, None, None),
        ({}, None, None),
        ({"groups": "staff", "email_verified": False}, None, None),
        ({"groups": "staff", "email_verified": "true"}, None, None),
        ({"groups": "staff", "email": ["ann@example.org"]}, None, None),
        ({"groups": "staff", "email": "ann\u0000@example.org"}, None, None),
    ],
)
def test_the_first_group_of_the_file_gives_role_and_projects(
    tmp_path: Path, claims: dict[str, Any], projects: list[str] | None, scopes: set[str] | None
) -> None:
    [settings] = IssuersFile.read(issuers_file(tmp_path, jwks_url="https://i.example/keys", more=GROUPS)).issuer
    caller = settings.caller({**ANN, **claims})
    if scopes is None:
        assert caller is None
    else:
        assert caller is not None and (caller.subject, caller.is_person) == ("member:ann@example.org", False)
        assert (caller.tenant, caller.projects, {*caller.scopes}) == ("acme", projects, scopes)


@pytest.mark.parametrize("line", ['role = "owner"', 'projects = ["acme/a", "globex/b"]', "x = 1"])
def test_a_group_that_cannot_be_used_does_not_start(tmp_path: Path, line: str) -> None:
    name = line.partition(" ")[0]
    kept = [one for one in ('value = "v"', 'role = "reader"', 'projects = ["a/b"]') if not one.startswith(f"{name} ")]
    file = issuers_file(tmp_path, jwks_url="https://i.example/k", more="\n".join(["[[issuer.group]]", *kept, line]))
    with pytest.raises(StartError, match=r"is not valid: issuer\.0\.group\.0"):
        IssuersFile.read(file)


def test_two_issuers_have_their_own_names(tmp_path: Path) -> None:
    file = issuers_file(tmp_path, jwks_url="https://i.example/keys")
    text = file.read_text("utf-8")
    file.write_text(f"{text}\n{text}", "utf-8")
    with pytest.raises(StartError, match="two issuers"):
        IssuersFile.read(file)
    file.write_text(f"{text}\n{text.replace(ISSUER, 'https://other.example')}", "utf-8")
    assert len(IssuersFile.read(file).issuer) == 2


# Keys of another service: every answer of that service, and how long an answer holds.

OTHER_KEY, KEY = "afk_" + "s" * 43, "afk_" + "k" * 43


ANN_REMOTELY = {"subject": "member:ann", "tenant": "acme", "projects": ["sales", "support"], "scopes": ["read"]}


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
    return httpx.Response(200, content=json.dumps(ANN_REMOTELY | {"is_person": False} | changed))


def lost() -> httpx.Response:
    raise httpx.ConnectError("refused")


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (known, HELD),
        (lambda: known(tenant=None, projects=None), Caller("member:ann", scopes=HELD.scopes, is_person=False)),
        (lambda: httpx.Response(401), None),
        (lambda: httpx.Response(403), Unavailable),
        (lambda: httpx.Response(500), Unavailable),
        (lambda: httpx.Response(302, headers={"location": "/"}), Unavailable),
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


# Authentication methods that the environment enables.


def with_environment(monkeypatch: pytest.MonkeyPatch, **values: str) -> AuthSettings:
    for name in ("AUTH_ISSUERS", "AUTH_KEYS_URL", "AUTH_CORS_ORIGINS"):
        monkeypatch.delenv(name, raising=False)
    for name, value in values.items():
        monkeypatch.setenv(name, value)
    return read_settings(AuthSettings)


def test_issuers_or_a_token_but_not_both_and_not_neither(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    plain = with_environment(monkeypatch)
    assert isinstance(authenticator_for(plain, "sixteen letters."), AccessToken)
    with pytest.raises(StartError, match="AUTH_ISSUERS"):
        authenticator_for(plain, None)
    file = issuers_file(tmp_path, jwks_url="https://i.example/keys")
    issued = with_environment(monkeypatch, AUTH_ISSUERS=str(file))
    assert [type(issuer) for issuer in issuers_of(issued)] == [TokenAuthenticator]
    authenticator_for(issued, None)
    with pytest.raises(StartError, match="not both"):
        authenticator_for(issued, "secret")


def test_with_the_keys_of_reporting_a_service_needs_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    authenticator_for(with_environment(monkeypatch, AUTH_KEYS_URL="http://reporting:8080"), None)


def test_lists_come_with_commas(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = with_environment(monkeypatch, AUTH_CORS_ORIGINS="https://a.example,https://b.example")
    assert settings.cors_origins == ("https://a.example", "https://b.example")
    assert with_environment(monkeypatch).cors_origins == ()


@pytest.mark.parametrize(
    "more", ['jwks_url = "file:///etc/passwd"', "leeway_seconds = -1", 'audience = ""', "other = 1"]
)
def test_an_issuer_that_cannot_be_used_does_not_start(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, more: str
) -> None:
    lines = ['issuer = "https://i"', 'audience = "a"', 'jwks_url = "https://i/keys"']
    kept = [line for line in lines if not line.startswith(more.partition(" ")[0] + " ")]
    file = tmp_path / "issuers.toml"
    file.write_text("\n".join(["[[issuer]]", *kept, more]), "utf-8")
    with pytest.raises(StartError, match=r"is not valid: issuer\.0") as refused:
        issuers_of(with_environment(monkeypatch, AUTH_ISSUERS=str(file)))
    assert "passwd" not in str(refused.value)
