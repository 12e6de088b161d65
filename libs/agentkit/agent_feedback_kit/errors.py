"""Exceptions raised by calls to agent-feedback. They are all derived from `AgentFeedbackError`."""

from __future__ import annotations


class AgentFeedbackError(Exception):
    """Raised if a call to agent-feedback fails. The message contains neither a token nor anybody's text."""


class Unreachable(AgentFeedbackError):
    """Raised if there is no response, due to a timeout or because the connection was refused or broken.

    It is unknown if the call has taken effect.
    """


class UnexpectedAnswer(AgentFeedbackError):
    """Raised if a response is not from agent-feedback, but for example from a proxy."""


class Refused(AgentFeedbackError):
    """Raised if the service responds with an error.

    `status` is the HTTP status, and `detail` is the error message in the response.
    """

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(f"{status}: {detail}")
        self.status = status
        self.detail = detail


class Unauthenticated(Refused):
    """Raised for status 401: the token is missing or invalid."""


class Forbidden(Refused):
    """Raised for status 403: the token is not valid for this tenant and project, or lacks a scope."""


class NotFound(Refused):
    """Raised for status 404: the turn does not exist, or the URL matches no route."""


class InvalidRequest(Refused):
    """Raised for status 400, 413, 415 or 422: the request is invalid and should not be retried."""


class Busy(Refused):
    """Raised if the service asks for a later retry (status 429 or 503) and no retry succeeded.

    `retry_after` is the requested delay in seconds, if the response states one.
    """

    def __init__(self, status: int, detail: str, retry_after: float | None = None) -> None:
        super().__init__(status, detail)
        self.retry_after = retry_after


class ServerFault(Refused):
    """Raised for any other 5xx status: the service or a proxy in front of it has failed."""


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
    """Return the exception for an error response with this HTTP status."""
    if status in (429, 503):
        return Busy(status, detail, retry_after)
    return _BY_STATUS.get(status, ServerFault if status >= 500 else Refused)(status, detail)
