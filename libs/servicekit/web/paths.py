"""Splitting of request paths before they are decoded, so that a slash in an id does not end a path segment."""

from __future__ import annotations

from urllib.parse import quote, unquote

from starlette.convertors import Convertor, register_url_convertor
from starlette.routing import compile_path
from starlette.types import Scope


class UnreadablePath(ValueError):
    """Raised if part of a request's path is not UTF-8."""


class Segment(Convertor[str]):
    """Starlette convertor for a percent-encoded path segment, written as `{name:segment}` in a route."""

    regex = "[^/]+"

    def convert(self, value: str) -> str:
        return unquote(value)

    def to_string(self, value: str) -> str:
        return quote(value, safe="")


register_url_convertor("segment", Segment())


def template_of(path: str) -> str:
    """Return a route's path without its convertors: `/a/{b:segment}` becomes `/a/{b}`."""
    return compile_path(path)[1]


def raw_path(scope: Scope) -> str:
    """Return the path of a request as it was sent, still percent-encoded."""
    sent = scope.get("raw_path")
    return quote(scope["path"], safe="/%") if sent is None else sent.decode("latin-1")


def segments_of(path: str) -> list[str]:
    """Split a percent-encoded path and return the decoded segments, the first of which is empty.

    Raises UnreadablePath.
    """
    if "%" not in path:
        return path.split("/")
    try:
        return [unquote(part, errors="strict") for part in path.split("/")]
    except UnicodeDecodeError:
        raise UnreadablePath("The path is not UTF-8.") from None
