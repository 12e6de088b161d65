"""Settings that both HTTP clients share: URL, token, tenant, project, timeout and retries."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import httpx

from agent_feedback_kit.client.requests import ProjectPlace, Request
from agent_feedback_kit.client.retrying import Retries
from agent_feedback_kit.errors import Unreachable

Token = str | Callable[[], str]
"""Token, or a function that returns the current token (people's own tokens expire within minutes)."""
ANSWER_LIMIT = 64 * 1024 * 1024
"""Maximum size of a response that is read into memory, in bytes."""


@dataclass(frozen=True, slots=True)
class ClientSettings:
    """Settings of an HTTP client. Their `repr` does not contain the token.

    `timeout` is the time limit for a call in seconds, including retries.
    """

    url: str
    project: ProjectPlace
    token: Token | None = field(repr=False)
    timeout: float
    retries: Retries

    def request(self, http: httpx.Client | httpx.AsyncClient, request: Request, left: float) -> httpx.Request:
        """Convert a request to an httpx request.

        `left` is the time limit in seconds for each phase of the request (connecting, sending and receiving).
        """
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
    """Validate the settings of a client and return them.

    Raises:
        ValueError: The URL is invalid, or has a user name, a query or a fragment, or the timeout is not positive.
    """
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment or parts.username:
        raise ValueError("the URL must be like https://feedback.example/path, without user, query and fragment")
    if timeout <= 0:
        raise ValueError("timeout must be above 0 seconds")
    return ClientSettings(url.rstrip("/"), ProjectPlace(tenant, project), token, timeout, retries or Retries())


def unreachable(error: Exception) -> Unreachable:
    """Return the exception for a transport error.

    Its message only names the class of the error, because the error's own text may contain the URL or a secret.
    """
    return Unreachable(f"no answer ({type(error).__name__})")
