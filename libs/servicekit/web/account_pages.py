"""Pages for signing in with a password, signing out, and setting a password through a link."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Final, Protocol

from fastapi import Request, Response

from contracts.access import OWN_CALLER, SET_PASSWORD, CallerFacts
from servicekit.clock import SystemClock
from servicekit.errors import RequestRefused, Unavailable
from servicekit.web.auth import COOKIE, Caller
from servicekit.web.forms import Form, refuse_foreign_form
from servicekit.web.permissions import PUBLIC, Permissions, needs
from servicekit.web.provider_pages import (
    PROVIDER_ANSWER,
    PROVIDER_ROUTES,
    Delay,
    ProviderSignInPort,
    address_of,
    provider_router,
    signed_out_page,
)
from servicekit.web.provider_settings import ProviderSettings
from servicekit.web.routes import Routes
from servicekit.web.sign_in import PASSWORD_SIGN_IN, sign_in_page, signed_in_answer, signed_out, small_page, to_sign_in

if TYPE_CHECKING:
    from servicekit.web.oidc import OpenIdProvider

SIGN_OUT: Final = "/sign-out"
ACCOUNT_ROUTES: Final[Permissions] = {
    ("GET", OWN_CALLER): needs(),
    ("POST", SIGN_OUT): needs(),
    ("POST", PASSWORD_SIGN_IN): PUBLIC,
    ("GET", SET_PASSWORD): PUBLIC,
    ("POST", SET_PASSWORD): PUBLIC,
    **PROVIDER_ROUTES,
}
"""Account routes of a service that keeps accounts, each with its permission."""
_REFUSES: Final = {
    401: "No valid access token.",
    503: "The database is unavailable; retry after Retry-After.",
}
_WRONG: Final = "The name or the password is wrong."
_USED: Final = "It has expired or was used. Ask whoever sent it for a new one (agent-feedback users link NAME)."
_FORM: Final = """<form method="post" action="{action}"><input type="hidden" name="link" value="{link}">
<input type="hidden" name="name" value="{name}" autocomplete="username">
<label for="password">Password</label><input id="password" name="password" type="password" required autofocus
minlength="{shortest}" maxlength="{longest}" autocomplete="new-password">
<label for="again">The same password again</label><input id="again" name="again" type="password" required
minlength="{shortest}" maxlength="{longest}" autocomplete="new-password"><button>Set the password</button></form>"""


class SignIn(Delay, Protocol):
    """Result of an attempt to sign in, with the delay that applies after too many attempts.

    `session` is the secret of the new session, or None if the attempt failed.
    """

    @property
    def session(self) -> str | None: ...


class AccountPort(ProviderSignInPort, Protocol):
    """Interface to the accounts that a service stores."""

    @property
    def password_length(self) -> tuple[int, int]:
        """Minimum and maximum length of a password."""
        ...

    async def sign_in(self, name: str, password: str, address: str) -> SignIn:
        """Check the name and password of a sign-in from the network address `address`."""
        ...

    async def end(self, session: str) -> bool:
        """End a session. Return True if it was still open and was opened through the identity provider."""
        ...

    async def account_of_link(self, link: str) -> str | None:
        """Return the name of the account whose password the link may set, or None if the link is invalid."""
        ...

    async def use_link(self, link: str, password: str) -> str:
        """Set the password of the account for which the link was issued, and return the secret of a new session.

        Raises RequestRefused.
        """
        ...

    @property
    def provider(self) -> ProviderSettings | None:
        """Identity provider with which people sign in, or None if there is none."""
        ...


def callers_router() -> Routes:
    """Return the route that describes the holder and the permissions of the request's token."""
    router = Routes("access", _REFUSES)

    @router.at("GET", OWN_CALLER, summary="Holder of the token")
    async def own_caller(caller: Caller) -> CallerFacts:
        """Return the subject, tenant, projects and scopes of the token with which the request is sent."""
        return CallerFacts(
            subject=caller.subject,
            tenant=caller.tenant,
            projects=caller.projects,
            scopes=sorted(caller.scopes),
            is_person=caller.is_person,
        )

    return router


def account_pages_router(accounts: AccountPort) -> Routes:
    """Return the routes for sign-in, password links and sign-out.

    People sign in with a password or through an identity provider.
    """
    router = Routes("access", token=False, hidden=True)
    settings = accounts.provider
    router.provider = label = "" if settings is None else settings.label
    provider = None if settings is None else _opened(settings)

    async def sign_in(request: Request) -> Response:
        try:
            form = await Form.read(request)
        except RequestRefused as refusal:
            return sign_in_page(request, "/", status=refusal.status, why=str(refusal))
        target = form.field("next") or "/"
        done = await accounts.sign_in(form.field("name"), form.field("password"), address_of(request))
        if done.session is not None:
            return signed_in_answer(request, done.session, target)
        if done.wait:
            why = f"There were too many attempts. Wait {done.wait_in_words}, or ask an administrator for a new link."
            answer = sign_in_page(request, target, status=429, why=why)
            answer.headers["Retry-After"] = str(done.wait)
            return answer
        return sign_in_page(request, target, status=422, why=_WRONG)

    async def sign_out(request: Request) -> Response:
        try:
            refuse_foreign_form(request)
        except RequestRefused as refusal:
            return small_page(refusal.status, "This did not work", str(refusal))
        by_provider = await accounts.end(request.cookies.get(COOKIE, ""))
        try:
            url = await provider.logout_url() if provider is not None and by_provider else None
        except Unavailable:
            url = None
        return signed_out(to_sign_in() if url is None else signed_out_page(label, url))

    async def show_link(request: Request) -> Response:
        return await _link_page(request.query_params.get("link", ""))

    async def _link_page(link: str, why: str = "", status: int = 200) -> Response:
        name = await accounts.account_of_link(link)
        if name is None:
            return small_page(410, "This link does not work", _USED)
        shortest, longest = accounts.password_length
        said = f'<p role="alert">{escape(why)}</p>' if why else ""
        form = _FORM.format(
            action=SET_PASSWORD, link=escape(link), name=escape(name), shortest=shortest, longest=longest
        )
        return small_page(status, f"Set a password for {name}", f"At least {shortest} characters.", said + form)

    async def use_link(request: Request) -> Response:
        try:
            form = await Form.read(request)
        except RequestRefused as refusal:
            return small_page(refusal.status, "This did not work", str(refusal))
        link, password = form.field("link"), form.field("password")
        if password != form.field("again"):
            return await _link_page(link, "The two passwords differ.", 422)
        try:
            return signed_in_answer(request, await accounts.use_link(link, password), "/")
        except RequestRefused as refusal:
            return await _link_page(link, str(refusal), refusal.status)

    for method, path, handler in (
        ("POST", PASSWORD_SIGN_IN, sign_in),
        ("POST", SIGN_OUT, sign_out),
        ("GET", SET_PASSWORD, show_link),
        ("POST", SET_PASSWORD, use_link),
    ):
        router.add_api_route(path, handler, methods=[method], response_model=None)
    router.include_router(provider_router(provider, label, accounts))
    return router


def _opened(settings: ProviderSettings) -> OpenIdProvider:
    # Its libraries take some megabytes, so only a service with an identity provider imports them.
    from servicekit.web.oidc import OpenIdProvider

    return OpenIdProvider(settings, settings.address + PROVIDER_ANSWER, SystemClock())
