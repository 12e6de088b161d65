"""Exceptions raised by calls to agent-feedback, with the base class `AgentFeedbackError`."""

from __future__ import annotations


class AgentFeedbackError(Exception):
    """Failed call to agent-feedback. The message contains no person's text and no token."""


class Unreachable(AgentFeedbackError):
    """No response: connection refused or broken, or a timeout. The call may or may not have taken effect."""


class UnexpectedAnswer(AgentFeedbackError):
    """Response that is not from agent-feedback, such as a proxy's page."""


class Refused(AgentFeedbackError):
    """Error response of the service. `status` is the HTTP status, `detail` is the error message in the response."""

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(f"{status}: {detail}")
        self.status = status
        self.detail = detail


class Unauthenticated(Refused):
    """401: the token is missing or invalid."""


class Forbidden(Refused):
    """403: the token is not valid for that tenant and project, or lacks a scope."""


class NotFound(Refused):
    """404: the turn does not exist, or no route matches the URL."""


class InvalidRequest(Refused):
    """400, 413, 415 or 422: the request is invalid; a retry does not help."""


class Busy(Refused):
    """429 or 503 on every attempt: the service asks the caller to retry later. `retry_after` is in seconds."""

    def __init__(self, status: int, detail: str, retry_after: float | None = None) -> None:
        super().__init__(status, detail)
        self.retry_after = retry_after


class ServerFault(Refused):
    """Any other 5xx: the service, or a proxy in front of it, failed."""


_BY_STATUS: dict[int, type[Refused]] = {
    400: InvalidRequest,
    401: Unauthenticated,
    403: Forbidden,
    404: NotFound,
    413: InvalidRequest,
    415: InvalidRequest,
    422: InvalidRequest,
}


def refused(status: int, detail: str, retry_after: float | None = None) -> Refused:
    """Return the exception for an error response with the HTTP status `status`."""
    if status in (429, 503):
        return Busy(status, detail, retry_after)
    return _BY_STATUS.get(status, ServerFault if status >= 500 else Refused)(status, detail)
