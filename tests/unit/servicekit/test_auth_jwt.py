"""Acceptance of an issuer's tokens, and their callers."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import json
import time
from collections.abc import AsyncIterator
from typing import Any

import jwt
import pytest
import pytest_asyncio
from cryptography.hazmat.primitives import serialization

from servicekit.errors import StartError, Unavailable
from servicekit.web.auth import Caller
from servicekit.web.jwks import KeySet, keys_in
from servicekit.web.jwt import Claims, JwtAuthenticator, caller_of_claims
from tests.support.hand_clock import HandClock
from tests.support.issuer import AUDIENCE, ISSUER, Issuer, issuer, key_for, public_jwk

NOW = int(time.time())


@pytest_asyncio.fixture
async def source() -> AsyncIterator[Issuer]:
    async with issuer() as running:
        running.add("rsa", "RS256")
        yield running


def accepting(source: Issuer, *algorithms: str, clock: HandClock | None = None, **times: float) -> JwtAuthenticator:
    keys = KeySet(source.url, clock or HandClock(), **{"seconds": 20.0, **times})
    return JwtAuthenticator(
        keys, issuer=ISSUER, audience=AUDIENCE, algorithms=algorithms or ("RS256", "ES256"), leeway=0
    )


@pytest.mark.parametrize("algorithm", ["RS256", "PS384", "ES256", "ES384", "EdDSA"])
async def test_a_sound_token_names_its_caller(source: Issuer, algorithm: str) -> None:
    source.add("mine", algorithm)
    caller = await accepting(source, algorithm).authenticate(source.token("mine"))
    assert caller == Caller("ann", "acme", "support", frozenset({"ingest", "on_behalf"}))
    assert caller.may_touch("acme", "support")
    assert not caller.may_touch("acme", "sales")
    assert not caller.may_touch("globex", "support")


@pytest.mark.parametrize(
    "claims",
    [
        {"exp": NOW - 1},
        {"exp": None},
        {"exp": "soon"},
        {"nbf": NOW + 86_400},
        {"iat": NOW + 86_400},
        {"iss": "https://elsewhere.example"},
        {"iss": None},
        {"iss": [ISSUER]},
        {"aud": "another"},
        {"aud": None},
        {"aud": []},
        {"sub": None},
        {"sub": ""},
        {"sub": 7},
        {"sub": "x" * 257},
        {"sub": "new\nline"},
        {"tenant": None},
        {"tenant": "*"},
        {"tenant": ["acme"]},
        {"tenant": "a/b"},
        {"project": None},
        {"project": ""},
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
    token = source.token("rsa", aud=["other", AUDIENCE], project="*", scope=["erase", 7])
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
    said = {"sub": "ann", "tenant": tenant, "project": project, "scope": "admin"}
    assert caller_of_claims(said, Claims(all_tenants=named)) == seen


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
    taking = accepting(source, "RS256", "ES256", "ES384")
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
    taking = accepting(source, "RS256", "PS256")
    assert await taking.authenticate(jwt.encode(Issuer.claims(), key, "PS256", headers={"kid": "rsa"})) is not None
    assert await taking.authenticate(source.token("rsa")) is None


async def test_a_token_cannot_bring_its_own_key(source: Issuer) -> None:
    key = key_for("RS256")
    jwk = public_jwk(key, "mine")
    for headers in ({"jwk": jwk}, {"jku": source.url}, {"jwk": jwk, "kid": "rsa"}, {"kid": "../rsa"}):
        assert await accepting(source).authenticate(_encode(key, headers)) is None


def _encode(key: Any, headers: dict[str, Any]) -> str:
    return jwt.api_jws.encode(json.dumps(Issuer.claims()).encode(), key, "RS256", headers=headers)


async def test_without_a_key_id_the_only_fitting_key_counts(source: Issuer) -> None:
    key = source.keys["rsa"][1]
    nameless = jwt.encode(Issuer.claims(), key, "RS256")
    assert await accepting(source).authenticate(nameless) is not None
    source.add("second", "RS256")
    assert await accepting(source).authenticate(nameless) is None


@pytest.mark.parametrize(
    "token", ["", "x", "a.b", "a.b.c.d", "....", "\x00", "é.é.é", "a" * 20_000, "eyJ9.e30.", "bnVsbA.bnVsbA.bnVsbA"]
)
async def test_what_is_no_token_is_refused_without_asking_anybody(source: Issuer, token: str) -> None:
    assert await accepting(source).authenticate(token) is None
    assert source.asked == 0


async def test_keys_are_kept_and_a_new_one_is_fetched_when_a_token_names_it(source: Issuer) -> None:
    clock = HandClock()
    taking = accepting(source, clock=clock)
    for _ in range(3):
        assert await taking.authenticate(source.token("rsa")) is not None
    assert source.asked == 1
    source.add("next")
    assert await taking.authenticate(source.token("next")) is None
    assert source.asked == 1, "asked again within ten seconds of the last time"
    clock.forward(10)
    assert await taking.authenticate(source.token("next")) is not None
    assert source.asked == 2
    stranger = jwt.encode(Issuer.claims(), key_for("RS256"), "RS256", headers={"kid": "stranger"})
    for _ in range(20):
        assert await taking.authenticate(stranger) is None
    assert source.asked == 2
    clock.forward(10)
    for _ in range(20):
        assert await taking.authenticate(stranger) is None
    assert source.asked == 3


async def test_a_key_that_was_withdrawn_is_forgotten(source: Issuer) -> None:
    clock = HandClock()
    taking = accepting(source, clock=clock)
    token = source.token("rsa")
    assert await taking.authenticate(token) is not None
    del source.keys["rsa"]
    assert await taking.authenticate(token) is not None
    clock.forward(600)
    assert await taking.authenticate(token) is None


async def test_an_issuer_that_fails(source: Issuer) -> None:
    clock = HandClock()
    keys = KeySet(source.url, clock, seconds=20)
    taking = JwtAuthenticator(keys, issuer=ISSUER, audience=AUDIENCE, algorithms=("RS256",), leeway=0)
    token = source.token("rsa")
    faults: list[tuple[int, bytes | None, bool]] = [
        (500, None, True),
        (302, None, True),
        (200, b"", True),
        (200, b'{"keys": 7}', True),
        (200, b'{"keys": [7, {"kty": "RSA"}, {"kty": "oct", "k": "c2VjcmV0", "kid": "rsa"}]}', True),
        (200, b" " * 300_000, True),
        (200, None, False),
    ]
    for status, answer, answers in faults:
        source.status, source.answer = status, answer
        source.gate.set() if answers else source.gate.clear()
        keys._seconds = 20 if answers else 0.2
        if answer is not None and b"oct" in answer:
            assert await taking.authenticate(token) is None, "it answered, and knows no such key"
        else:
            with pytest.raises(Unavailable, match="issuer"):
                await taking.authenticate(token)
        clock.forward(10)
    source.status, source.answer = 200, None
    source.gate.set()
    keys._seconds = 20
    assert await taking.authenticate(token) is not None
    source.gate.clear()
    keys._seconds = 0.2
    clock.forward(700)
    assert await taking.authenticate(token) is not None, "keys at hand are used while the issuer is away"
    source.add("next")
    with pytest.raises(Unavailable):
        await taking.authenticate(source.token("next"))
    clock.forward(86_400)
    with pytest.raises(Unavailable):
        await taking.authenticate(token)
    assert await taking.authenticate("no token") is None


async def test_many_callers_at_once_ask_the_issuer_once(source: Issuer) -> None:
    taking = accepting(source)
    token = source.token("rsa")
    callers = await asyncio.gather(*(taking.authenticate(token) for _ in range(30)))
    assert all(callers)
    assert source.asked == 1


def test_only_public_signing_keys_of_some_strength_are_kept() -> None:
    good = public_jwk(key_for("RS256"), "good")
    weak = public_jwk(key_for("RS256", bits=1_024), "weak")
    for_encryption = {**good, "kid": "enc", "use": "enc"}
    for_signing = {**good, "kid": "sign", "key_ops": ["sign"]}
    symmetric = {"kty": "oct", "k": "c2VjcmV0", "kid": "oct", "alg": "HS256"}
    renamed = {**good, "kid": "hs", "alg": "HS256"}
    found = keys_in({"keys": [weak, for_encryption, for_signing, symmetric, renamed, {"kty": []}, None, good]})
    assert [key.key_id for key in found] == ["good"]


@pytest.mark.parametrize("algorithms", [("HS256",), ("none",), ("RS256", "HS512"), ()])
def test_algorithms_without_a_public_key_cannot_be_configured(algorithms: tuple[str, ...]) -> None:
    with pytest.raises(StartError, match="AUTH_ALGORITHMS"):
        JwtAuthenticator(KeySet("http://127.0.0.1:9", HandClock()), issuer="i", audience="a", algorithms=algorithms)
