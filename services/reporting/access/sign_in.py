"""Sign-in to pages with a key or a token from the URL or a form, which is then stored as a cookie."""

from __future__ import annotations

import base64
import hashlib
import re
from html import escape
from typing import Final
from urllib.parse import parse_qs, urlencode

from fastapi import Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse

from servicekit.errors import Unavailable
from servicekit.web.routes import Routes

_STYLE: Final = (
    ":root{color-scheme:light dark;background:light-dark(#f5f3ee,#141414);color:light-dark(#1b1d1c,#ececea)}"
    "a{color:light-dark(#1f6456,#7fc9b5)}"
    "body{font:16px/1.6 Inter,system-ui,-apple-system,Segoe UI,Roboto,Liberation Sans,sans-serif;"
    "max-width:34rem;margin:18vh auto;padding:0 1.25rem}"
    "h1{font-size:1.4rem;letter-spacing:-.01em}h2{font-size:1rem;margin:1.6rem 0 0}"
    "code{font-size:.95em}p{margin:.75rem 0}"
    "form{display:flex;flex-wrap:wrap;gap:.5rem;margin:1.2rem 0}label{flex-basis:100%;font-size:.85rem}"
    "input,button{font:inherit;padding:.45rem .7rem;border-radius:8px;border:1px solid #8888}input{flex:1;min-width:0}"
    "button{background:#1f6456;color:#fff;cursor:pointer}"
    "[role=alert]{color:light-dark(#9c3320,#f4a391);font-weight:600}"
)
_PAGE: Final = f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>agent-feedback</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><style>{_STYLE.replace("%", "%%")}</style></head>
<body><main><h1>%s</h1>
%s</main></body></html>"""
SIGN_IN: Final = "/sign-in"
SIGN_OUT: Final = "/sign-out"
_FORM: Final = f"""<form method="post" action="{SIGN_IN}"><input type="hidden" name="next" value="%s">
<label for="name">Name (for your password manager)</label><input id="name" name="name" autocomplete="username"
autocapitalize="none" spellcheck="false" maxlength="100"><label for="token">Key or access token</label>
<input id="token" name="token" type="password" required autofocus autocomplete="current-password" spellcheck="false">
<button>Sign in</button></form>
<p>Whoever administers your projects makes a key for you on the page Operations. At start, <code>agent-feedback</code>
prints an address that contains its access token, and stores the token in its state folder
(<code>.agent-feedback/token</code>).</p>"""
_PROVIDER: Final = '<p><a href="%s">Sign in with your organisation</a></p><h2>Or with a key</h2>'
_WRONG: Final = '<p role="alert">This key does not work: it is wrong, has expired, or may not read these pages.</p>'
_REMEMBERED_SECONDS: Final = 400 * 86_400
"""Lifetime of the cookie in seconds, the longest that browsers allow. Once the key has expired, it is useless."""
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
PRIVATE: Final = {"Cache-Control": "no-store", "Referrer-Policy": "same-origin", "X-Content-Type-Options": "nosniff"}


async def refused_page(request: Request, status: int, why: str) -> Response:
    """Return the response to a refused page request: an error page, or the sign-in form if a valid token is missing.

    A token in the URL signs the person in. It is not checked after a server error, because the check may need the token
    issuer, which may be unavailable.
    """
    if status in _FAILURES:
        return small_page(status, _FAILURES[status], why)
    if request.state.guard.brings_token(request):
        return await sign_in(request, request.query_params["token"], _without_token(request))
    if status == 404:
        return small_page(404, "There is nothing here", why, _TO_OVERVIEW)
    if status in (400, 422):
        return small_page(status, "This address does not work", why, _TO_OVERVIEW)
    if status != 401:
        return small_page(status, "This token does not open this page", why)
    return sign_in_page(request, _without_token(request), wrong=request.state.guard.cookie in request.cookies)


async def signed_in(request: Request) -> Response:
    """Handle a submitted sign-in form."""
    body = await request.body()
    try:
        fields = parse_qs(body[:_MOST_BYTES].decode("ascii"), max_num_fields=5)
    except ValueError:
        fields = {}
    return await sign_in(request, fields.get("token", [""])[0].strip(), fields.get("next", ["/"])[0], refused=422)


def sign_in_router() -> Routes:
    """Return the routes to which the forms for sign-in and sign-out are submitted."""
    router = Routes("pages", token=False, hidden=True, page=refused_page)
    router.show("POST", SIGN_IN, "no token", signed_in)
    router.show("POST", SIGN_OUT, "any token", signed_out)
    return router


async def sign_in(request: Request, token: str, target: str, refused: int = 401) -> HTMLResponse | RedirectResponse:
    """Sign a person in: store `token` as a cookie and redirect to `target`.

    With SameSite=Lax a link on another site opens a page, but changes nothing. If the token is invalid, the response is
    the sign-in page with the status `refused`. A `target` that is not a path of this server is replaced by "/".
    """
    target, guard = target if _OWN_PATH.fullmatch(target) else "/", request.state.guard
    try:
        is_valid = await guard.authenticator.authenticate(token) is not None
    except UnicodeEncodeError:
        is_valid = False
    except Unavailable:
        return small_page(503, "Sign-in is not available at the moment", "The issuer of tokens does not answer.")
    if not is_valid or not _TOKEN.fullmatch(token):
        return sign_in_page(request, target, wrong=True, status=refused)
    answer, is_secure = RedirectResponse(target, 303, PRIVATE), request.url.scheme == "https"
    answer.set_cookie(
        guard.cookie, token, _REMEMBERED_SECONDS, httponly=True, samesite="lax", secure=is_secure, path="/"
    )
    return answer


async def signed_out(request: Request) -> RedirectResponse:
    """Delete the cookie and redirect to `/`, which shows the sign-in form."""
    answer = RedirectResponse("/", 303, PRIVATE)
    answer.delete_cookie(request.state.guard.cookie, path="/")
    return answer


def sign_in_page(request: Request, target: str, *, wrong: bool = False, status: int = 401) -> HTMLResponse:
    """Return the page with the sign-in form and, if there is an identity provider, the link to it.

    Args:
        wrong: True to state that the submitted key is invalid.
    """
    url = request.state.guard.sign_in_url
    link = "" if url is None else _PROVIDER % escape(f"{url}?{urlencode({'rd': target})}")
    return _page(status, "Sign in", (_WRONG if wrong else "") + link + _FORM % escape(target))


def _without_token(request: Request) -> str:
    target = request.url.remove_query_params("token")
    path = target.path if request.method == "GET" else "/"
    return f"{path}?{target.query}" if target.query else path


def small_page(status: int, title: str, text: str, more: str = "") -> HTMLResponse:
    """Return a page that needs no other files, because callers without a token cannot load any.

    Args:
        more: Trusted HTML to append.
    """
    return _page(status, escape(title), f"<p>{escape(text)}</p>{more}")


def _page(status: int, title: str, body: str) -> HTMLResponse:
    return HTMLResponse(_PAGE % (title, body), status, {**PRIVATE, "Content-Security-Policy": _POLICY})
