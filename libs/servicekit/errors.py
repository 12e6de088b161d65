"""Exceptions of the platform: permanent record errors, unavailable dependencies, refused requests. No I/O."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any


class Permanent(Exception):
    """Raised if a record can never be processed. `reason` is a short name without user text."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Unavailable(Exception):
    """Raised if a dependency, named `what`, is slow or does not respond."""

    def __init__(self, what: str, why: str = "") -> None:
        super().__init__(f"{what} is not available" + (f": {why}" if why else ""))
        self.what = what


class LogUnavailable(Unavailable):
    """Raised if the log does not acknowledge a write because of the log or the connection, not the records."""

    def __init__(self, why: str = "") -> None:
        super().__init__("the log", why)


_SECRETS = re.compile(r"(\w+://)?(?:\S*@)([^\s?]*)(?:\?\S*)?|(\w+://[^\s?]*)\?\S*")


def shown(text: str) -> str:
    """Return `text` with credentials and query strings removed from its addresses.

    Everything before the last `@` of a word counts as credentials, because an unescaped `/` or a missing scheme would
    otherwise leave a password in.
    """
    return _SECRETS.sub(lambda match: match[3] or (match[1] or "") + match[2], text)


class StartError(Exception):
    """Raised if the program cannot start. The message tells the operator what to do.

    URLs in the message are shown without credentials and query strings.
    """

    def __init__(self, sentence: str) -> None:
        super().__init__(shown(sentence))


class LogFull(Exception):
    """Raised if the log is full because its consumers lag behind. `retry_after` is in seconds."""

    def __init__(self, retry_after: int = 2) -> None:
        super().__init__("The log is full until its consumers have caught up; send this again later.")
        self.retry_after = retry_after


class RequestRefused(Exception):
    """Raised to refuse an HTTP request.

    Args:
        status: The status of the response.
        detail: The reason in one sentence, without the caller's input.
        retry_after: The number of seconds after which the caller may retry.
    """

    def __init__(self, status: int, detail: str, retry_after: int | None = None) -> None:
        super().__init__(detail)
        self.status = status
        self.retry_after = retry_after


_SHOWN = 5
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*")
_PARTS_OF_A_REQUEST = frozenset({"body", "path", "query", "header"})


def error_summary(faults: Sequence[Any]) -> str:
    """Return the first few validation errors as `field: rule; field: rule`, in ASCII and without the invalid input.

    An unknown field is named if its name is an identifier. Any other name may be a person's text.
    """
    sentences = list(dict.fromkeys(_one_error(fault) for fault in faults))
    more = f"; and {len(sentences) - _SHOWN} more" if len(sentences) > _SHOWN else ""
    return ("; ".join(sentences[:_SHOWN]) + more).encode("ascii", "backslashreplace").decode()


def _one_error(fault: Any) -> str:
    location = [str(part)[:64] for part in fault["loc"]]
    if len(location) > 1 and location[0] in _PARTS_OF_A_REQUEST:
        del location[0]
    if fault.get("type") != "extra_forbidden":
        return f"{'.'.join(location) or 'body'}: {rule_of(fault)}"
    if not _IDENTIFIER.fullmatch(location[-1]):
        del location[-1]
    return ": ".join([*filter(None, [".".join(location)]), "an unknown field"])


def rule_of(fault: Any) -> str:
    """Return the message of a validation error, which states the violated rule."""
    return str(fault["msg"]).removeprefix("Value error, ")
