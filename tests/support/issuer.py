"""A token issuer on a loopback port: real keys, a real key set over HTTP, and faults on demand."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm
from starlette.types import Receive, Scope, Send

from servicekit.clock import SystemClock
from servicekit.web.issuers import Issuer as IssuerSettings
from servicekit.web.server import HttpServer
from servicekit.web.tokens import TokenAuthenticator

ISSUER = "https://issuer.example"
AUDIENCE = "agent-feedback"


@cache
def key_for(algorithm: str, name: str = "", bits: int = 2_048) -> Any:
    """Return a private key, always the same for a name."""
    match algorithm[:2]:
        case "RS" | "PS":
            return rsa.generate_private_key(65_537, bits)
        case "ES":
            return ec.generate_private_key({"ES256": ec.SECP256R1(), "ES384": ec.SECP384R1()}[algorithm])
        case _:
            return ed25519.Ed25519PrivateKey.generate()


def public_jwk(key: Any, key_id: str, **more: Any) -> dict[str, Any]:
    kind: dict[type, type[RSAAlgorithm | ECAlgorithm | OKPAlgorithm]] = {
        rsa.RSAPrivateKey: RSAAlgorithm,
        ec.EllipticCurvePrivateKey: ECAlgorithm,
    }
    form = next((form for type_, form in kind.items() if isinstance(key, type_)), OKPAlgorithm)
    return {**form.to_jwk(key.public_key(), as_dict=True), "kid": key_id, "use": "sig", **more}


@dataclass
class Issuer:
    """Token issuer. `answer` replaces the key set, `status` its status; responses wait until `gate` is set."""

    url: str
    keys: dict[str, tuple[str, Any]] = field(default_factory=dict)
    asked: int = 0
    status: int = 200
    answer: bytes | None = None
    gate: asyncio.Event = field(default_factory=asyncio.Event)

    def add(self, key_id: str, algorithm: str = "RS256") -> None:
        self.keys[key_id] = (algorithm, key_for(algorithm, key_id))

    def token(self, key_id: str, *, headers: dict[str, Any] | None = None, **claims: Any) -> str:
        """Return a token signed by that key; a claim that is None is omitted."""
        algorithm, key = self.keys[key_id]
        return jwt.encode(self.claims(**claims), key, algorithm, headers={"kid": key_id, **(headers or {})})

    @staticmethod
    def claims(**claims: Any) -> dict[str, Any]:
        now = int(time.time())
        said = {
            "iss": ISSUER,
            "aud": AUDIENCE,
            "sub": "ann",
            "tenant": "acme",
            "project": "support",
            "scope": "ingest on_behalf",
            "iat": now,
            "exp": now + 300,
            **claims,
        }
        return {name: value for name, value in said.items() if value is not None}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        self.asked += 1
        await self.gate.wait()
        keys = [public_jwk(key, key_id, alg=name) for key_id, (name, key) in self.keys.items()]
        body = self.answer if self.answer is not None else json.dumps({"keys": keys}).encode()
        headers = [(b"content-type", b"application/json"), (b"location", b"http://127.0.0.1:9/")]
        await send({"type": "http.response.start", "status": self.status, "headers": headers})
        await send({"type": "http.response.body", "body": body})


@asynccontextmanager
async def issuer() -> AsyncIterator[Issuer]:
    server = HttpServer("127.0.0.1", 0)
    running = Issuer(f"http://127.0.0.1:{server.port}/keys")
    running.gate.set()
    await server.start(running)
    try:
        yield running
    finally:
        running.gate.set()
        await server.stop()


def settings_of(source: Issuer, **fields: Any) -> IssuerSettings:
    """Return the settings with which a service accepts the tokens of `source`."""
    return IssuerSettings.model_validate(
        {"issuer": ISSUER, "audience": AUDIENCE, "jwks_url": source.url, "leeway_seconds": 0, **fields}
    )


def accepting(source: Issuer, **fields: Any) -> TokenAuthenticator:
    """Return an authenticator for the tokens of `source`."""
    return TokenAuthenticator(settings_of(source, **fields), SystemClock(), seconds=20)


def issuers_file(folder: Path, issuer: str = ISSUER, *, jwks_url: str, more: str = "") -> Path:
    """Write a file for AUTH_ISSUERS with one issuer; `more` are further lines of it."""
    path = folder / "issuers.toml"
    lines = ["[[issuer]]", f'issuer = "{issuer}"', f'audience = "{AUDIENCE}"', f'jwks_url = "{jwks_url}"', more]
    path.write_text("\n".join(lines), "utf-8")
    return path
