"""An OpenID provider on a loopback port, strict about its clients, with faults on demand."""

from __future__ import annotations

import base64
import hashlib
import secrets
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlencode

import jwt
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.types import Receive, Scope, Send

from tests.support.issuer import key_for, public_jwk
from tests.support.served import served

CLIENT, SECRET = "agent-feedback", "s3cret%+/ of the client"
GROUPS = """
[[group]]
value = "feedback-admins"
role = "admin"
projects = ["acme/*"]

[[group]]
value = "/support leads"
role = "reviewer"
projects = ["acme/support", "acme/sales"]

[[group]]
value = "everybody"
role = "reader"
projects = ["acme/support"]
"""


@dataclass
class OpenIdProvider:
    """OpenID provider. `person` has the claims of whoever is signed in there, `wrong` replaces those of the token.

    `document` changes the discovery document, `down` has paths that fail, `key` is the current key.
    `token` replaces the ID token.
    """

    url: str = ""
    redirect_uri: str = ""
    person: dict[str, Any] = field(default_factory=lambda: {"sub": "ann-1", "email": "Ann@Example.org"})
    wrong: dict[str, Any] = field(default_factory=dict)
    document: dict[str, Any] = field(default_factory=dict)
    down: set[str] = field(default_factory=set)
    algorithm: str = "RS256"
    key: str = "first"
    token: str | None = None
    codes: dict[str, dict[str, str]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    def signs_in(self, subject: str, *groups: str, **claims: Any) -> None:
        """Let another person be signed in at the provider."""
        email = claims.pop("email", f"{subject}@example.org")
        self.person = {"sub": subject, "email": email, "email_verified": True, "groups": list(groups), **claims}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        path = scope["path"]
        self.asked.append(path)
        answers = {
            "/.well-known/openid-configuration": self._discovery,
            "/authorize": self._authorize,
            "/token": self._token,
            "/jwks": self._jwks,
        }
        answer = Response(status_code=500) if path in self.down else await answers[path](request)
        await answer(scope, receive, send)

    async def _discovery(self, _: Request) -> Response:
        known = {
            "issuer": self.url,
            "authorization_endpoint": f"{self.url}/authorize?prompt=none",
            "token_endpoint": f"{self.url}/token",
            "jwks_uri": f"{self.url}/jwks",
            "end_session_endpoint": f"{self.url}/logout",
            "token_endpoint_auth_methods_supported": ["client_secret_basic", "client_secret_post"],
            "authorization_response_iss_parameter_supported": True,
        }
        return JSONResponse({name: one for name, one in (known | self.document).items() if one is not None})

    async def _authorize(self, request: Request) -> Response:
        said = dict(request.query_params)
        assert said["prompt"] == "none" and said["response_type"] == "code", said
        assert (said["client_id"], said["redirect_uri"]) == (CLIENT, self.redirect_uri), said
        assert said["code_challenge_method"] == "S256" and "openid" in said["scope"].split(), said
        code = secrets.token_urlsafe()
        self.codes[code] = said
        back = {"code": code, "state": said["state"], "iss": self.url}
        return RedirectResponse(f"{self.redirect_uri}?{urlencode(back)}", 302)

    async def _token(self, request: Request) -> Response:
        said = {name: one[0] for name, one in parse_qs((await request.body()).decode()).items()}
        basic = "Basic " + base64.b64encode(f"{CLIENT}:{SECRET}".encode()).decode()
        given = request.headers.get("authorization", "") == basic
        if not given and (said.get("client_id"), said.get("client_secret")) != (CLIENT, SECRET):
            return JSONResponse({"error": "invalid_client"}, 401)
        asked = self.codes.pop(said["code"], None)
        challenge = base64.urlsafe_b64encode(hashlib.sha256(said["code_verifier"].encode()).digest()).rstrip(b"=")
        if asked is None or asked["code_challenge"] != challenge.decode() or said["redirect_uri"] != self.redirect_uri:
            return JSONResponse({"error": "invalid_grant", "error_description": "<b>no</b>"}, 400)
        return JSONResponse({"access_token": "x", "token_type": "Bearer", "id_token": self._signed(asked["nonce"])})

    def _signed(self, nonce: str) -> str:
        if self.token is not None:
            return self.token
        now = int(time.time())
        times = {"iat": now, "exp": now + 300, "nonce": nonce}
        claims = {"iss": self.url, "aud": CLIENT, **times, **self.person, **self.wrong}
        key = key_for(self.algorithm, self.key)
        said = {name: one for name, one in claims.items() if one is not None}
        return jwt.encode(said, key, self.algorithm, headers={"kid": self.key})

    async def _jwks(self, _: Request) -> Response:
        return JSONResponse({"keys": [public_jwk(key_for(self.algorithm, self.key), self.key)]})

    def file(self, folder: Path, address: str, more: str = "", groups: str = GROUPS) -> Path:
        """Write the file of settings for a client at `address`."""
        self.redirect_uri = f"{address}/sign-in/provider/answer"
        text = (
            f'label = "Acme & Co"\nissuer = "{self.url}"\nclient_id = "{CLIENT}"\n'
            f'secret_from = "OIDC_CLIENT_SECRET"\naddress = "{address}"\n{more}\n{groups}'
        )
        path = folder / "identity_provider.toml"
        path.write_text(text, "utf-8")
        return path


@asynccontextmanager
async def openid_provider() -> AsyncIterator[OpenIdProvider]:
    running = OpenIdProvider()
    async with served(running) as running.url:
        yield running


def parameters(url: str) -> dict[str, str]:
    """Return the parameters of a URL."""
    return dict(parse_qsl(url.partition("?")[2]))
