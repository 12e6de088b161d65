"""Sign-in with a password, and the link on which a person sets one."""

from __future__ import annotations

from html import escape
from typing import Final

from fastapi import Request, Response

from reporting.access.passwords import LONGEST, SHORTEST
from reporting.access.sessions import AccountSessions, minutes
from reporting.dashboard.forms import field, read_form
from servicekit import RequestRefused, Routes, sign_in_page, signed_in_answer, small_page

PASSWORD: Final = "/sign-in/password"  # noqa: S105 # a path
LINK: Final = "/set-password"
_WRONG: Final = "The name or the password is wrong."
_USED: Final = "It has expired or was used. Ask whoever sent it for a new one (agent-feedback users link NAME)."
_FORM: Final = """<form method="post" action="{action}"><input type="hidden" name="link" value="{link}">
<input type="hidden" name="name" value="{name}" autocomplete="username">
<label for="password">Password</label><input id="password" name="password" type="password" required autofocus
minlength="{shortest}" maxlength="{longest}" autocomplete="new-password">
<label for="again">The same password again</label><input id="again" name="again" type="password" required
minlength="{shortest}" maxlength="{longest}" autocomplete="new-password"><button>Set the password</button></form>"""


def address_of(request: Request) -> str:
    """Return the client's address."""
    return request.client.host if request.client else "unknown"


def password_router(sessions: AccountSessions) -> Routes:
    """Return the routes that people use before they are signed in."""
    router = Routes("access", token=False, hidden=True)

    async def sign_in(request: Request) -> Response:
        try:
            form = await read_form(request)
        except RequestRefused as refusal:
            return sign_in_page("/", status=refusal.status, why=str(refusal))
        target = field(form, "next") or "/"
        done = await sessions.sign_in(field(form, "name"), field(form, "password"), address_of(request))
        if done.session is not None:
            return signed_in_answer(request, done.session, target)
        if done.wait:
            why = f"There were too many attempts. Wait {minutes(done.wait)}, or ask an administrator for a new link."
            answer = sign_in_page(target, status=429, why=why)
            answer.headers["Retry-After"] = str(done.wait)
            return answer
        return sign_in_page(target, status=422, why=_WRONG)

    async def show_link(request: Request) -> Response:
        return await _link_page(request.query_params.get("link", ""))

    async def _link_page(link: str, why: str = "", status: int = 200) -> Response:
        name = await sessions.account_of_link(link)
        if name is None:
            return small_page(410, "This link does not work", _USED)
        said = f'<p role="alert">{escape(why)}</p>' if why else ""
        form = _FORM.format(action=LINK, link=escape(link), name=escape(name), shortest=SHORTEST, longest=LONGEST)
        return small_page(status, f"Set a password for {name}", f"At least {SHORTEST} characters.", said + form)

    async def use_link(request: Request) -> Response:
        try:
            form = await read_form(request)
        except RequestRefused as refusal:
            return small_page(refusal.status, "This did not work", str(refusal))
        link, password = field(form, "link"), field(form, "password")
        if password != field(form, "again"):
            return await _link_page(link, "The two passwords differ.", 422)
        try:
            return signed_in_answer(request, await sessions.use_link(link, password), "/")
        except RequestRefused as refusal:
            return await _link_page(link, str(refusal), refusal.status)

    router.add_api_route(PASSWORD, sign_in, methods=["POST"], response_model=None)
    router.add_api_route(LINK, show_link, methods=["GET"], response_model=None)
    router.add_api_route(LINK, use_link, methods=["POST"], response_model=None)
    return router
