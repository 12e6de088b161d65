"""Retry policy for failed requests, shared by both clients."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agent_feedback_kit.errors import AgentFeedbackError, Busy, Refused, UnexpectedAnswer, Unreachable, refused

_AGAIN = frozenset({429, 502, 503, 504})
_DETAIL_LIMIT = 500


@dataclass(frozen=True, slots=True)
class Retries:
    """Retry policy with exponential backoff and random jitter.

    A call is attempted at most `tries` times. The delay doubles from `first_wait` to `longest_wait` seconds, unless the
    response has a `Retry-After` header. A call is not retried if the delay would exceed its timeout.
    """

    tries: int = 4
    first_wait: float = 0.1
    longest_wait: float = 2.0

    def wait(self, tried: int, error: AgentFeedbackError, left: float) -> float | None:
        """Return the delay in seconds before the next attempt, or None if there must not be another one.

        Args:
            tried: Number of failed attempts.
            error: Exception of the last attempt.
            left: Remaining time of the call in seconds.
        """
        if tried >= self.tries or not _passing(error):
            return None
        backoff = min(self.longest_wait, self.first_wait * 2 ** (tried - 1)) * random.uniform(0.5, 1.0)
        requested = error.retry_after if isinstance(error, Busy) else None
        wait = backoff if requested is None else requested
        return wait if wait < left else None


def _passing(error: AgentFeedbackError) -> bool:
    return isinstance(error, Unreachable) or (isinstance(error, Refused) and error.status in _AGAIN)


def read_json(status: int, headers: Mapping[str, str], body: bytes) -> Any:
    """Return the parsed JSON body of a successful response.

    Raises:
        AgentFeedbackError: The response has an error status (see `refusal_of`), or its body is not JSON.
    """
    if not 200 <= status < 300:
        raise refusal_of(status, headers, body)
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        raise UnexpectedAnswer(f"the response (status {status}) is not JSON: is this the URL of the API?") from None


def refusal_of(status: int, headers: Mapping[str, str], body: bytes) -> AgentFeedbackError:
    """Return the exception that corresponds to an unsuccessful response."""
    if status < 400:
        return UnexpectedAnswer(f"the response has status {status}: is this the URL of the API?")
    try:
        detail = json.loads(body)["detail"]
    except (ValueError, RecursionError, TypeError, KeyError):
        detail = None
    sentence = detail[:_DETAIL_LIMIT] if isinstance(detail, str) else "refused without a reason"
    return refused(status, sentence, _seconds(headers.get("retry-after")))


def _seconds(header: str | None) -> float | None:
    return float(header) if header is not None and header.isascii() and header.isdigit() and len(header) < 7 else None
