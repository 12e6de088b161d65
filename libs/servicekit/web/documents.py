"""Documents that are the same for every caller.

Each is rendered once and sent with an ETag, compressed with gzip if the client accepts that.
"""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Callable, Mapping
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import Response


class _Made(NamedTuple):
    content: bytes
    packed: bytes
    etag: str


class Document:
    """Document of the type `media_type`, which `make` renders on the first request.

    `headers` are added to every response.
    """

    def __init__(self, make: Callable[[], bytes], media_type: str, headers: Mapping[str, str] | None = None) -> None:
        self._make = make
        self._media_type = media_type
        self._headers = {
            "Cache-Control": "no-cache",
            "Vary": "Accept-Encoding",
            "X-Content-Type-Options": "nosniff",
            **(headers or {}),
        }
        self._made: _Made | None = None

    def forget(self) -> None:
        """Discard the cached document, so that the next request renders it again."""
        self._made = None

    async def answer(self, request: Request, _: Mapping[str, str] | None = None) -> Response:
        """Return the document, or status 304 if the client has the current version."""
        if self._made is None:
            content = self._make()
            etag = f'W/"{hashlib.sha256(content).hexdigest()[:32]}"'
            self._made = _Made(content, gzip.compress(content, mtime=0), etag)
        content, packed, etag = self._made
        headers = {**self._headers, "ETag": etag}
        if _names(request.headers.get("if-none-match", ""), etag):
            return Response(status_code=304, headers=headers)
        if not takes_gzip(request):
            # Named, so that the middleware leaves the answer as it is.
            return Response(content, media_type=self._media_type, headers={**headers, "Content-Encoding": "identity"})
        return Response(packed, media_type=self._media_type, headers={**headers, "Content-Encoding": "gzip"})


def takes_gzip(request: Request) -> bool:
    """Return True if the client accepts gzip."""
    for offer in request.headers.get("accept-encoding", "").lower().split(","):
        coding, _, weight = offer.replace(" ", "").partition(";q=")
        if coding == "gzip":
            return weight.strip("0.") != "" or weight == ""
    return False


def _names(condition: str, etag: str) -> bool:
    return any(name.strip().removeprefix("W/") in ("*", etag.removeprefix("W/")) for name in condition.split(","))
