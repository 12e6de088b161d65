"""Every way in which a call to agent-feedback fails: one tree, `AgentFeedbackError` at its root."""

from __future__ import annotations


class AgentFeedbackError(Exception):
    """A call to agent-feedback failed. The message holds no text of a person and no token."""


class Unreachable(AgentFeedbackError):
    """No answer came: no connection, a broken one, or the time was up. Whether the call took effect is unknown."""


class UnexpectedAnswer(AgentFeedbackError):
    """An answer came that is none of agent-feedback's, such as a proxy's page."""


class Refused(AgentFeedbackError):
    """The service answered and refused. `status` is the HTTP status, `detail` its sentence."""

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(f"{status}: {detail}")
        self.status = status
        self.detail = detail


class Unauthenticated(Refused):
    """401: no token, or one that is not valid."""


class Forbidden(Refused):
    """403: the token does not reach that tenant and project, or lacks a scope."""


class NotFound(Refused):
    """404: no such turn, or no such route on that address."""


class InvalidRequest(Refused):
    """400, 413, 415 or 422: the request breaks a rule; sending it again does not help."""


class Busy(Refused):
    """429 or 503 on every try: the service is up, and asks to be called later. `retry_after` in seconds, if given."""

    def __init__(self, status: int, detail: str, retry_after: float | None = None) -> None:
        super().__init__(status, detail)
        self.retry_after = retry_after


class ServerFault(Refused):
    """Any other 5xx: the service, or what stands before it, failed."""


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
    """The exception for an answer with that status."""
    if status in (429, 503):
        return Busy(status, detail, retry_after)
    return _BY_STATUS.get(status, ServerFault if status >= 500 else Refused)(status, detail)
