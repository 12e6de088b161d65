"""Settings of both clients: URL, token, tenant and project, retries."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import httpx

from agent_feedback_kit.client.calls import ProjectPlace, Request
from agent_feedback_kit.client.retrying import Retries
from agent_feedback_kit.errors import Unreachable

Token = str | Callable[[], str]
"""Token, or a function that returns the current token (people's own tokens expire within minutes)."""
ANSWER_LIMIT = 64 * 1024 * 1024
"""Maximum size of a response that is read into memory, in bytes."""


@dataclass(frozen=True, slots=True)
class ClientSettings:
    """Client settings. `timeout` limits a call in seconds, including retries. The `repr` omits the token."""

    url: str
    place: ProjectPlace
    token: Token | None = field(repr=False)
    timeout: float
    retries: Retries

    def request(self, http: httpx.Client | httpx.AsyncClient, request: Request, left: float) -> httpx.Request:
        """Return the httpx request. Each phase of the request (connect, send, receive) may take `left` seconds."""
        headers = {"Accept": "application/json", "Accept-Encoding": "identity"}
        if self.token is not None:
            headers["Authorization"] = f"Bearer {self.token if isinstance(self.token, str) else self.token()}"
        if request.body is not None:
            headers["Content-Type"] = request.media_type
        return http.build_request(
            request.method,
            self.url + request.path,
            content=request.body,
            params=dict(request.query) or None,
            headers=headers,
            timeout=max(left, 0.001),
        )


def settings_of(
    url: str, token: Token | None, tenant: str, project: str, timeout: float, retries: Retries | None
) -> ClientSettings:
    """Return a client's settings.

    Raises ValueError for a URL that is invalid or has a user name, query or fragment, and for a timeout of 0 or less.
    """
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment or parts.username:
        raise ValueError("the URL must be like https://feedback.example/path, without user, query and fragment")
    if timeout <= 0:
        raise ValueError("timeout must be above 0 seconds")
    return ClientSettings(url.rstrip("/"), ProjectPlace(tenant, project), token, timeout, retries or Retries())


def unreachable(error: Exception) -> Unreachable:
    """Return an exception that names only the transport error's class, as its text may contain the URL or a secret."""
    return Unreachable(f"no answer ({type(error).__name__})")
