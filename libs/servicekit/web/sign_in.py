"""Sign-in to pages: a token in the URL or the form is exchanged for a cookie."""

from __future__ import annotations

import base64
import hashlib
import re
from html import escape
from typing import Final, TypeVar
from urllib.parse import parse_qs, quote

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse

from servicekit.errors import Unavailable
from servicekit.web.auth import COOKIE, Authenticator

R = TypeVar("R", bound=Response)
_STYLE: Final = (
    ":root{color-scheme:light dark;background:light-dark(#f5f3ee,#141414);color:light-dark(#1b1d1c,#ececea)}"
    "a{color:light-dark(#1f6456,#7fc9b5)}"
    "body{font:16px/1.6 Inter,system-ui,-apple-system,Segoe UI,Roboto,Liberation Sans,sans-serif;"
    "max-width:34rem;margin:18vh auto;padding:0 1.25rem}"
    "h1{font-size:1.4rem;letter-spacing:-.01em}h2{font-size:1rem;margin:1.6rem 0 0}"
    "code{font-size:.95em}p{margin:.75rem 0}"
    "form{display:flex;flex-wrap:wrap;gap:.5rem;margin:1.2rem 0}label{flex-basis:100%;font-size:.85rem}"
    "input,button{font:inherit;padding:.45rem .7rem;border-radius:8px;border:1px solid #8888}input{flex:1;min-width:0}"
    "button,a.button{background:#1f6456;color:#fff;cursor:pointer}"
    "a.button{display:inline-block;padding:.45rem .7rem;border-radius:8px;text-decoration:none}"
    "[role=alert]{color:light-dark(#9c3320,#f4a391);font-weight:600}"
)
_PAGE: Final = f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>agent-feedback</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><style>{_STYLE.replace("%", "%%")}</style></head>
<body><main><h1>%s</h1>
%s</main></body></html>"""
SIGN_IN: Final = "/sign-in"
PASSWORD_SIGN_IN: Final = SIGN_IN + "/password"
PROVIDER_SIGN_IN: Final = SIGN_IN + "/provider"
_FORM: Final = f"""<form method="post" action="{PASSWORD_SIGN_IN}"><input type="hidden" name="next" value="%s">
<label for="name">Name</label><input id="name" name="name" required autofocus autocomplete="username"
autocapitalize="none" spellcheck="false" maxlength="100"><label for="password">Password</label>
<input id="password" name="password" type="password" required autocomplete="current-password">
<button>Sign in</button></form>
<h2>Or with an access token</h2>
<form method="post" action="{SIGN_IN}"><input type="hidden" name="next" value="%s">
<label for="token">Access token</label><input id="token" name="token" type="password" required
autocomplete="off" spellcheck="false"><button>Use the token</button></form>
<p>At start, <code>agent-feedback</code> prints an address that contains the token, and stores the token in its state
folder (<code>.agent-feedback/token</code>). If you use your own token issuer, enter a token with the scope
<code>read</code>.</p>
<p>If you are signed in already and followed a link from another site, <a href="%s">open the page</a>: browsers do not
send the sign-in cookie with such a link.</p>"""
_OR_BY_NAME: Final = "<h2>Or with a name and a password</h2>"
_WRONG: Final = '<p role="alert">This token does not work: it is wrong, has expired, or may not read these pages.</p>'
TO_SIGN_IN: Final = '<p><a href="/">To the sign-in page</a></p>'
_TO_OVERVIEW: Final = '<p><a href="/">To the overview</a></p>'
_FAILURES: Final = {500: "This page failed", 503: "This page is not available at the moment"}
_MOST_BYTES: Final = 16_384
_POLICY: Final = (
    "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'; style-src 'sha256-"
    + base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
    + "'"
)
_OWN_PATH: Final = re.compile(r"/(?![/\\])[\x21-\x7e]*")
_TOKEN: Final = re.compile(r"[\x21-\x7e]+")
PRIVATE: Final = {"Cache-Control": "no-store", "Referrer-Policy": "no-referrer", "X-Content-Type-Options": "nosniff"}


async def refused_page(request: Request, status: int, why: str) -> Response:
    """Return the response to a refused page request: a sign-in with the URL's token, the sign-in form, or an error.

    After a failure the token is not checked, because the check may need the token issuer, which may be unavailable.
    """
    if status in _FAILURES:
        return small_page(status, _FAILURES[status], why)
    if is_sign_in(request):
        return await sign_in(request, request.query_params["token"], _without_token(request))
    if status == 404:
        return small_page(404, "There is nothing here", why, _TO_OVERVIEW)
    if status == 422:
        return small_page(422, "This address does not work", why, _TO_OVERVIEW)
    if status != 401:
        return small_page(status, "This token does not open this page", why)
    return sign_in_page(request, _without_token(request), wrong=COOKIE in request.cookies)


def is_sign_in(request: Request) -> bool:
    """Return True if the request is for `/` with a token, which is the URL that the program prints at its start."""
    return request.url.path == "/" and "token" in request.query_params


async def signed_in(request: Request) -> Response:
    """Return the response to a submitted sign-in form."""
    body = await request.body()
    try:
        said = parse_qs(body[:_MOST_BYTES].decode("ascii"), max_num_fields=5)
    except ValueError:
        said = {}
    return await sign_in(request, said.get("token", [""])[0].strip(), said.get("next", ["/"])[0], refused=422)


def sign_in_router() -> APIRouter:
    """Return the route of the sign-in form."""
    router = APIRouter(include_in_schema=False)
    router.add_api_route(SIGN_IN, signed_in, methods=["POST"], response_model=None)
    return router


async def sign_in(request: Request, token: str, target: str, refused: int = 401) -> HTMLResponse | RedirectResponse:
    """Set the token as a cookie and redirect to `target`; for an invalid token, return the sign-in page.

    A `target` that is not a path of this server becomes "/".
    """
    authenticator: Authenticator = request.state.authenticator
    target = own_path(target)
    try:
        known = await authenticator.authenticate(token) is not None
    except UnicodeEncodeError:
        known = False
    except Unavailable:
        return small_page(503, "Sign-in is not available at the moment", "The issuer of tokens does not answer.")
    if not known or not _TOKEN.fullmatch(token):
        return sign_in_page(request, target, wrong=True, status=refused)
    return signed_in_answer(request, token, target)


def signed_in_answer(request: Request, token: str, target: str) -> RedirectResponse:
    """Set `token` as the cookie and redirect to `target`, or to "/" if that is not a path of this server."""
    return _with_cookie(request, RedirectResponse(own_path(target), 303, PRIVATE), token)


def continued_answer(request: Request, token: str, target: str) -> Response:
    """Set `token` as the cookie and return a page that opens `target`, or "/" if that is not a path of this server.

    A redirect would not work: after navigation from another site, browsers do not send the cookie (SameSite=Strict).
    """
    safe = escape(own_path(target))
    more = f'<meta http-equiv="refresh" content="0;url={safe}"><p><a href="{safe}">Continue</a></p>'
    return _with_cookie(request, _page(200, "Signed in", more), token)


def _with_cookie(request: Request, answer: R, token: str) -> R:
    answer.set_cookie(COOKIE, token, httponly=True, samesite="strict", secure=request.url.scheme == "https", path="/")
    return answer


def own_path(target: str) -> str:
    """Return `target` if it is a path of this server, otherwise "/"."""
    return target if _OWN_PATH.fullmatch(target) else "/"


def to_sign_in() -> RedirectResponse:
    """Redirect to `/`, where a person without a session gets the sign-in form."""
    return RedirectResponse("/", 303, PRIVATE)


def signed_out(answer: R) -> R:
    """Add the deletion of the cookie to the response."""
    answer.delete_cookie(COOKIE, path="/")
    return answer


def sign_in_page(
    request: Request, target: str, *, wrong: bool = False, status: int = 401, why: str = ""
) -> HTMLResponse:
    """Return the page with the sign-in forms.

    `wrong` adds the message that the token does not work; `why` adds another message.
    """
    safe = escape(target)
    said = _WRONG if wrong else f'<p role="alert">{escape(why)}</p>' if why else ""
    label: str = getattr(request.state, "provider", "")
    link = "" if not label else provider_link(target, f"Sign in with {label}") + _OR_BY_NAME
    return _page(status, "Sign in", said + link + _FORM % (safe, safe, safe))


def provider_link(target: str, text: str) -> str:
    """Return the link that starts a sign-in with the identity provider.

    A form would not work: the pages' Content Security Policy forbids that a form is redirected to another site.
    """
    return f'<p><a class="button" href="{PROVIDER_SIGN_IN}?next={quote(target, safe="/")}">{escape(text)}</a></p>'


def _without_token(request: Request) -> str:
    target = request.url.remove_query_params("token")
    path = target.path if request.method == "GET" else "/"
    return f"{path}?{target.query}" if target.query else path


def small_page(status: int, title: str, text: str, more: str = "") -> HTMLResponse:
    """Return a page without assets, because callers without a token cannot load them; `more` is trusted HTML."""
    return _page(status, escape(title), f"<p>{escape(text)}</p>{more}")


def _page(status: int, title: str, body: str) -> HTMLResponse:
    return HTMLResponse(_PAGE % (title, body), status, {**PRIVATE, "Content-Security-Policy": _POLICY})
