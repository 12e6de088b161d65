"""Sign-in with an OpenID provider: the redirect to the provider, and the page to which it returns the person."""

from __future__ import annotations

import base64
import binascii
import hmac
import secrets
from collections.abc import Mapping
from html import escape
from typing import TYPE_CHECKING, Any, Final, Protocol

from fastapi import Request, Response
from fastapi.responses import RedirectResponse
from pydantic import ValidationError
from pydantic.dataclasses import dataclass as checked
from pydantic_core import from_json, to_json

from servicekit.errors import RequestRefused, Unavailable
from servicekit.web.permissions import PUBLIC, Permissions
from servicekit.web.provider_settings import SignInSecrets
from servicekit.web.refusals import RETRY_SECONDS
from servicekit.web.routes import Routes
from servicekit.web.sign_in import (
    PRIVATE,
    PROVIDER_SIGN_IN,
    TO_SIGN_IN,
    continued_answer,
    own_path,
    provider_link,
    small_page,
)

if TYPE_CHECKING:
    from servicekit.web.oidc import OpenIdProvider

PROVIDER_ANSWER: Final = PROVIDER_SIGN_IN + "/answer"
"""Path of the redirect URI, which must be registered with the provider."""
PROVIDER_ROUTES: Final[Permissions] = {("GET", PROVIDER_SIGN_IN): PUBLIC, ("GET", PROVIDER_ANSWER): PUBLIC}
SIGN_IN_SECONDS: Final = 600
"""Time within which a person must complete a sign-in, in seconds."""
_LONGEST_TARGET: Final = 1_500
_COOKIE: Final = "agent_feedback_sign_in"
_NONE: Final = "This address is for sign-in with an identity provider, and none is configured."
_LOST: Final = "It took too long, was started in another window or on another device, or was used before."
_INVALID: Final = "The identity provider's confirmation is invalid or was used before."


@checked(frozen=True)
class _Pending:
    """Unfinished sign-in of a browser: its secrets, and the page to open afterwards."""

    state: str
    nonce: str
    verifier: str
    target: str

    @property
    def secrets(self) -> SignInSecrets:
        return SignInSecrets(self.state, self.nonce, self.verifier)


class Delay(Protocol):
    """Delay until the next attempt to sign in is allowed.

    `wait` is in seconds, 0 for no delay. `wait_in_words` is the same delay for people to read.
    """

    @property
    def wait(self) -> int: ...

    @property
    def wait_in_words(self) -> str: ...


class ProviderSignInPort(Protocol):
    """Interface to the accounts of people who sign in with the identity provider."""

    async def may_ask_provider(self, address: str) -> Delay:
        """Count an attempt to sign in from `address`, and return how long the person must wait, if at all."""
        ...

    async def admit(self, claims: Mapping[str, Any], address: str) -> str:
        """Open a session for a person with verified claims of the identity provider, and return its secret.

        Raises RequestRefused.
        """
        ...


def provider_router(provider: OpenIdProvider | None, label: str, accounts: ProviderSignInPort) -> Routes:
    """Return the routes for sign-in with `provider`."""
    router = Routes("access", token=False, hidden=True)

    def unavailable(target: str) -> Response:
        text = f"{label} does not answer as expected. Try again in a minute, or tell an administrator."
        answer = small_page(503, "Sign-in is not available at the moment", text, provider_link(target, "Try again"))
        answer.headers["Retry-After"] = str(RETRY_SECONDS)
        return answer

    def failed(status: int, title: str, text: str, target: str = "/") -> Response:
        return small_page(status, title, text, provider_link(target, "Sign in again") + TO_SIGN_IN)

    async def begin(request: Request) -> Response:
        if provider is None:
            return small_page(404, "There is nothing here", _NONE)
        target = own_path(request.query_params.get("next", "/"))
        if len(target) > _LONGEST_TARGET:
            target = "/"
        state, nonce, verifier = (secrets.token_urlsafe(32) for _ in range(3))
        pending = _Pending(state, nonce, verifier, target)
        try:
            url = await provider.authorization_url(pending.secrets)
        except Unavailable:
            return unavailable(target)
        answer = RedirectResponse(url, 303, PRIVATE)
        # The provider's site sends the person back, so the cookie cannot be Strict.
        answer.set_cookie(
            _name(request),
            base64.urlsafe_b64encode(to_json(pending)).decode(),
            max_age=SIGN_IN_SECONDS,
            httponly=True,
            samesite="lax",
            secure=_is_secure(request),
            path="/",
        )
        return answer

    async def end(request: Request) -> Response:
        answer = await _ended(request)
        answer.delete_cookie(_name(request), path="/", secure=_is_secure(request), httponly=True, samesite="lax")
        return answer

    async def _ended(request: Request) -> Response:
        if provider is None:
            return small_page(404, "There is nothing here", _NONE)
        said, pending = request.query_params, _pending(request.cookies.get(_name(request), ""))
        if pending is None or not hmac.compare_digest(said.get("state", "").encode(), pending.state.encode()):
            return failed(400, "This sign-in cannot be completed", _LOST)
        delay = await accounts.may_ask_provider(address_of(request))
        if delay.wait:
            answer = failed(429, "There were too many attempts", f"Wait {delay.wait_in_words}.", pending.target)
            answer.headers["Retry-After"] = str(delay.wait)
            return answer
        try:
            if not await provider.is_issuer(said.get("iss")):
                return failed(400, "This sign-in cannot be completed", "Another provider answered it.")
            if "error" in said or not said.get("code"):
                return failed(403, "You were not signed in", f"{label} refused, or you cancelled.", pending.target)
            claims = await provider.claims(said["code"], pending.secrets)
            if claims is None:
                return failed(403, "You were not signed in", _INVALID, pending.target)
            session = await accounts.admit(claims, address_of(request))
        except Unavailable:
            return unavailable(pending.target)
        except RequestRefused as refusal:
            return failed(refusal.status, "You have no access", str(refusal), pending.target)
        return continued_answer(request, session, pending.target)

    router.add_api_route(PROVIDER_SIGN_IN, begin, methods=["GET"], response_model=None)
    router.add_api_route(PROVIDER_ANSWER, end, methods=["GET"], response_model=None)
    return router


def address_of(request: Request) -> str:
    """Return the client's network address, for which the number of sign-in attempts is limited."""
    return request.client.host if request.client else "unknown"


def signed_out_page(label: str, url: str) -> Response:
    """Return the page for a person who has signed out, with a link that also ends the session with the provider."""
    link = f'<p><a href="{escape(url)}">Sign out of {escape(label)}</a></p>'
    text = f"You are signed out here. Your session with {label} continues."
    return small_page(200, "Signed out", text, link + TO_SIGN_IN)


def _is_secure(request: Request) -> bool:
    return request.url.scheme == "https"


def _name(request: Request) -> str:
    """Return the name of the cookie for an unfinished sign-in.

    With HTTPS, it has the prefix `__Host-`, so that browsers reject a cookie of this name from a sibling domain.
    """
    return f"__Host-{_COOKIE}" if _is_secure(request) else _COOKIE


def _pending(text: str) -> _Pending | None:
    try:
        return _Pending(**from_json(base64.urlsafe_b64decode(text.encode("ascii"))))
    except (ValueError, TypeError, binascii.Error, ValidationError):
        return None
