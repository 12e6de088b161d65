"""Matching of request paths before they are decoded, so that a slash in an id does not end a path segment."""

from __future__ import annotations

from urllib.parse import quote, unquote

from starlette.convertors import Convertor, register_url_convertor
from starlette.types import Scope


class Segment(Convertor[str]):
    """Starlette convertor for a percent-encoded path segment, written as `{name:segment}` in a route."""

    regex = "[^/]+"

    def convert(self, value: str) -> str:
        return unquote(value)

    def to_string(self, value: str) -> str:
        return quote(value, safe="")


register_url_convertor("segment", Segment())


def raw_path(scope: Scope) -> str:
    """Return the path of a request as it was sent, still percent-encoded."""
    sent = scope.get("raw_path")
    return quote(scope["path"], safe="/%") if sent is None else sent.decode("latin-1")


def is_readable(path: str) -> bool:
    """Return True if a percent-encoded path is UTF-8."""
    try:
        unquote(path, errors="strict")
    except UnicodeDecodeError:
        return False
    return path.isascii()
