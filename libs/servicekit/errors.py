"""The platform's exceptions: permanent record errors, unavailable dependencies, refused requests. Pure."""

from __future__ import annotations

import re


class Permanent(Exception):
    """The record can never be processed. `reason` is a short name without user text."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Unavailable(Exception):
    """A dependency, named by `what`, is slow or down."""

    def __init__(self, what: str, why: str = "") -> None:
        super().__init__(f"{what} is not available" + (f": {why}" if why else ""))
        self.what = what


class LogUnavailable(Unavailable):
    """The log did not acknowledge a write. The cause is the log or the connection, not the written records."""

    def __init__(self, why: str = "") -> None:
        super().__init__("the log", why)


class SchemaIncompatible(Unavailable):
    """The database's schema is newer than this program can use; the message is one sentence."""

    def __init__(self, sentence: str) -> None:
        Exception.__init__(self, sentence)
        self.what = "the schema"


_URL = re.compile(r"(\w+://)(?:[^\s@/]*@)?([^\s?]*)(?:\?\S*)?")


def shown(text: str) -> str:
    """Return `text` without the users, passwords and options of the URLs in it."""
    return _URL.sub(r"\1\2", text)


class StartError(Exception):
    """The program cannot start. The message says what to do; its URLs omit users, passwords and options."""

    def __init__(self, sentence: str) -> None:
        super().__init__(shown(sentence))


class LogFull(Exception):
    """The log is full until its consumers have caught up. `retry_after` is in seconds."""

    def __init__(self, retry_after: int = 2) -> None:
        super().__init__("The log is full until its consumers have caught up; send this again later.")
        self.retry_after = retry_after


class RequestRefused(Exception):
    """Refusal of a request. The response has `status` and one sentence that does not echo the caller's input.

    `retry_after` is the number of seconds after which the caller may retry.
    """

    def __init__(self, status: int, detail: str, retry_after: int | None = None) -> None:
        super().__init__(detail)
        self.status = status
        self.retry_after = retry_after
