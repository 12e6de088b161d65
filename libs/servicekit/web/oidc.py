"""OpenID provider client for sign-in by authorization code with PKCE.

Authlib builds the OAuth 2 requests. ID tokens are verified like an issuer's tokens (`jwt.py`, `jwks.py`).
"""

from __future__ import annotations

import asyncio
import hmac
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final
from urllib.parse import urlsplit

from authlib.common.urls import add_params_to_uri
from authlib.oauth2.client import OAuth2Client
from pydantic import BaseModel, ConfigDict, StringConstraints

from servicekit.clock import Clock
from servicekit.errors import Unavailable
from servicekit.logging import logger
from servicekit.web.issuer_http import FAILURES, fetch_json
from servicekit.web.jwks import ALGORITHMS, KeySet
from servicekit.web.jwt import verified_claims
from servicekit.web.provider_settings import ProviderSettings, SignInSecrets

DISCOVERY: Final = "/.well-known/openid-configuration"
KEEP_SECONDS: Final = 600.0
"""Cache lifetime of the discovery document, in seconds."""
RETRY_SECONDS: Final = 10.0
"""Pause after a failed fetch of the discovery document, in seconds."""
_SECONDS: Final = 5.0
_LEEWAY: Final = 30.0
_ERROR: Final = re.compile(r"[a-z_]{1,40}")
_Endpoint = Annotated[str, StringConstraints(pattern=r"^https?://[^\x00-\x20]+$", max_length=2_000)]
log = logger("oidc")


class ProviderDocument(BaseModel):
    """Fields of the provider's discovery document that this client needs."""

    model_config = ConfigDict(frozen=True)

    issuer: str
    authorization_endpoint: _Endpoint
    token_endpoint: _Endpoint
    jwks_uri: _Endpoint
    end_session_endpoint: _Endpoint | None = None
    token_endpoint_auth_methods_supported: list[str] = ["client_secret_basic"]
    authorization_response_iss_parameter_supported: bool = False


@dataclass(frozen=True, slots=True)
class _TokenRequest:
    body: str
    headers: Mapping[str, str]


class _RequestForm(OAuth2Client):  # type: ignore[misc]  # Authlib has no types
    """Authlib's client, changed to return the token request instead of sending it."""

    def _fetch_token(
        self, url: str, body: str = "", headers: Any = None, auth: Any = None, method: str = "POST", **_: Any
    ) -> _TokenRequest:
        _, prepared, form = auth.prepare(method, url, {**headers}, body)
        return _TokenRequest(form, prepared)


class _DocumentRefused(Unavailable):
    """Raised if the discovery document is from another issuer, or if one of its endpoints has no TLS.

    The cached document is then dropped.
    """


class OpenIdProvider:
    """OpenID provider with which people sign in.

    All methods raise Unavailable if the provider does not respond or its response is invalid.
    """

    def __init__(self, settings: ProviderSettings, redirect_uri: str, clock: Clock, seconds: float = _SECONDS) -> None:
        self._settings = settings
        self._redirect_uri = redirect_uri
        self._clock = clock
        self._seconds = seconds
        self._known: ProviderDocument | None = None
        self._known_at = 0.0
        self._keys: tuple[str, KeySet] | None = None
        self._failed_at: float | None = None
        self._fetching = asyncio.Lock()
        self.refreshing: asyncio.Task[None] | None = None
        """Task that fetches a replacement for the cached document; None before the first fetch."""

    async def authorization_url(self, secrets: SignInSecrets) -> str:
        """Return the URL at which the person signs in."""
        document = await self._document()
        url, _ = self._form(document).create_authorization_url(
            document.authorization_endpoint,
            state=secrets.state,
            nonce=secrets.nonce,
            code_verifier=secrets.verifier,
        )
        return str(url)

    async def is_issuer(self, named: str | None) -> bool:
        """Return True if the parameter `iss` of an authorization response (RFC 9207) names this provider.

        A missing `iss` (None) is accepted unless the provider announces that it always sends one.
        """
        if named is None:
            return not (await self._document()).authorization_response_iss_parameter_supported
        return named == self._settings.issuer

    async def claims(self, code: str, secrets: SignInSecrets) -> Mapping[str, Any] | None:
        """Exchange an authorization code for an ID token, and return the token's claims.

        The result is None if the code or the token is invalid.
        """
        document = await self._document()
        token = await self._id_token(document, code, secrets.verifier)
        if token is None:
            return None
        client = self._settings.client_id
        said = await verified_claims(
            token,
            self._key_set(document.jwks_uri),
            ALGORITHMS,
            issuer=self._settings.issuer,
            audience=client,
            leeway=_LEEWAY,
        )
        return said if said is not None and is_of_sign_in(said, client, secrets.nonce) else None

    async def logout_url(self) -> str | None:
        """Return the URL at which a person ends the session with the provider, or None if there is none."""
        endpoint = (await self._document()).end_session_endpoint
        if endpoint is None:
            return None
        back = {"client_id": self._settings.client_id, "post_logout_redirect_uri": f"{self._settings.address}/"}
        return str(add_params_to_uri(endpoint, list(back.items())))

    async def _id_token(self, document: ProviderDocument, code: str, verifier: str) -> str | None:
        request: _TokenRequest = self._form(document).fetch_token(
            document.token_endpoint, grant_type="authorization_code", code=code, code_verifier=verifier
        )
        try:
            answer = await fetch_json(
                document.token_endpoint, self._seconds, body=request.body, headers=request.headers
            )
        except FAILURES as error:
            raise self._unavailable("token_not_fetched", type(error).__name__) from None
        match answer.value:
            case {"id_token": str(token)} if answer.status == 200:
                return token
            case {"error": "invalid_grant"}:
                return None
            case {"error": str(reason)} if _ERROR.fullmatch(reason):
                raise self._unavailable("token_refused", reason)  # invalid_client: the operator must act
        raise self._unavailable("token_refused", str(answer.status))

    def _form(self, document: ProviderDocument) -> Any:
        settings = self._settings
        # Providers disagree on the encoding of special characters in the header, but not in the body.
        in_body = "client_secret_post" in document.token_endpoint_auth_methods_supported
        return _RequestForm(
            None,
            client_id=settings.client_id,
            client_secret=settings.client_secret,
            token_endpoint_auth_method="client_secret_post" if in_body else "client_secret_basic",
            scope=settings.scopes,
            redirect_uri=self._redirect_uri,
            code_challenge_method="S256",
        )

    def _key_set(self, url: str) -> KeySet:
        if self._keys is None or self._keys[0] != url:
            self._keys = (url, KeySet(url, self._clock, seconds=self._seconds))
        return self._keys[1]

    async def _document(self) -> ProviderDocument:
        """Return the cached discovery document, and start to refresh it in the background if it is old.

        If no document is cached, the first caller fetches it while other callers wait. For RETRY_SECONDS after a
        failure, nothing is fetched; if no document is cached, Unavailable is raised.
        """
        if self._known is None:
            async with self._fetching:
                if self._known is None:
                    if self._is_paused():
                        raise Unavailable(self._settings.label)
                    self._known = await self._fetched()
                    self._known_at = self._clock.monotonic()
        elif self._is_due():
            self.refreshing = asyncio.create_task(self._refresh())
        return self._known

    def _is_due(self) -> bool:
        """Return True if the cached discovery document is old and should be fetched again.

        The result is False while a fetch is running, and for RETRY_SECONDS after a failed fetch.
        """
        if self._clock.monotonic() - self._known_at < KEEP_SECONDS or self._is_paused():
            return False
        return self.refreshing is None or self.refreshing.done()

    async def _refresh(self) -> None:
        """Fetch the discovery document and replace the cached one.

        The cached document is kept if the provider does not respond, but dropped if the fetched document is refused.
        """
        try:
            self._known = await self._fetched()
            self._known_at = self._clock.monotonic()
        except _DocumentRefused:
            self._known = None
        except Unavailable:
            pass

    async def _fetched(self) -> ProviderDocument:
        try:
            answer = await fetch_json(self._settings.issuer.rstrip("/") + DISCOVERY, self._seconds)
            if answer.status != 200:
                raise ValueError("no discovery document")
            found = ProviderDocument.model_validate(answer.value)
        except FAILURES as error:
            self._failed_at = self._clock.monotonic()
            raise self._unavailable("discovery_document_not_fetched", type(error).__name__) from None
        if reason := mismatch(found, self._settings.issuer):
            self._failed_at = self._clock.monotonic()
            log.warning("discovery_document_refused", error=reason)
            raise _DocumentRefused(self._settings.label)
        return found

    def _is_paused(self) -> bool:
        return self._failed_at is not None and self._clock.monotonic() - self._failed_at < RETRY_SECONDS

    def _unavailable(self, event: str, reason: str) -> Unavailable:
        log.warning(event, error=reason)
        return Unavailable(self._settings.label)


def mismatch(document: ProviderDocument, issuer: str) -> str:
    """Return the reason to refuse a discovery document from `issuer`, or "" if the document is acceptable."""
    if document.issuer != issuer:
        return "the issuer in the document differs from the setting"
    endpoints = (document.authorization_endpoint, document.token_endpoint, document.jwks_uri)
    if urlsplit(issuer).scheme == "https" and not all(one.startswith("https:") for one in endpoints):
        return "an endpoint has no TLS"
    return ""


def is_of_sign_in(said: Mapping[str, Any], client: str, nonce: str) -> bool:
    """Return True if verified claims belong to the sign-in with `nonce` and are meant for this client only (`azp`)."""
    audience, party, given = said.get("aud"), said.get("azp"), said.get("nonce")
    if party is None and isinstance(audience, list) and len(audience) > 1:
        return False
    if party not in (None, client) or not isinstance(given, str):
        return False
    return hmac.compare_digest(given.encode("utf-8", "surrogatepass"), nonce.encode())
