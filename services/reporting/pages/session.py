"""How a person gets into the pages: a token in the address once, a cookie from then on."""

from __future__ import annotations

import base64
import hashlib
from typing import Final

from fastapi import Request
from fastapi.responses import HTMLResponse, RedirectResponse

from servicekit.auth import COOKIE, Authenticator, Caller

_STYLE: Final = (
    "body{font:16px/1.6 Inter,system-ui,-apple-system,Segoe UI,Roboto,Liberation Sans,sans-serif;"
    "max-width:34rem;margin:18vh auto;padding:0 1.25rem;"
    "color-scheme:light dark}h1{font-size:1.4rem;letter-spacing:-.01em}code{font-size:.95em}p{margin:.75rem 0}"
)
_WAY_IN: Final = f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>agent-feedback</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><style>{_STYLE}</style></head>
<body><main><h1>This page needs an access token</h1>
<p>Open the address that the start of <code>agent-feedback</code> printed, or add the token to this one:
<code>/?token=…</code></p>
<p>If you have just followed such a link from another site, <a href="/">open the dashboard</a>: the browser holds
the token back on the way in.</p></main></body></html>"""
_WAY_IN_POLICY: Final = (
    "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'; style-src 'sha256-"
    + base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
    + "'"
)
PRIVATE: Final = {"Cache-Control": "no-store", "Referrer-Policy": "no-referrer", "X-Content-Type-Options": "nosniff"}


async def caller_of_page(request: Request) -> Caller | None:
    """Who looks at the page, by cookie or bearer token; None where nobody we know."""
    authenticator: Authenticator = request.app.state.authenticator
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer":
        token = request.cookies.get(COOKIE, "")
    return await authenticator.authenticate(token.strip()) if token else None


async def sign_in(request: Request, token: str) -> HTMLResponse | RedirectResponse:
    """Turn `?token=` into a cookie and the same address without it; a wrong one gets the way in."""
    authenticator: Authenticator = request.app.state.authenticator
    try:
        known = await authenticator.authenticate(token) is not None
    except UnicodeEncodeError:
        known = False
    if not known or not token.isascii():
        return way_in()
    target = request.url.remove_query_params("token")
    answer = RedirectResponse(f"{target.path}?{target.query}" if target.query else target.path, 303, PRIVATE)
    answer.set_cookie(COOKIE, token, httponly=True, samesite="strict", secure=request.url.scheme == "https", path="/")
    return answer


def way_in() -> HTMLResponse:
    return HTMLResponse(_WAY_IN, 401, {**PRIVATE, "Content-Security-Policy": _WAY_IN_POLICY})
