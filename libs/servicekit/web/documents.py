"""Documents that are the same for every caller, each rendered once and sent with an ETag."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping

from starlette.requests import Request
from starlette.responses import Response


class Document:
    """Document of the type `media_type`, which `make` renders on the first request.

    `headers` are added to every response.
    """

    def __init__(self, make: Callable[[], bytes], media_type: str, headers: Mapping[str, str] | None = None) -> None:
        self._make = make
        self._media_type = media_type
        self._headers = {
            "Cache-Control": "no-cache",
            "X-Content-Type-Options": "nosniff",
            **(headers or {}),
        }
        self._content: tuple[bytes, str] | None = None
        """Rendered document and its ETag."""

    def forget(self) -> None:
        """Discard the cached document, so that the next request renders it again."""
        self._content = None

    async def answer(self, request: Request, _: Mapping[str, str] | None = None) -> Response:
        """Return the document, or status 304 if the client has the current version."""
        if self._content is None:
            content = self._make()
            self._content = content, f'W/"{hashlib.sha256(content).hexdigest()[:32]}"'
        content, etag = self._content
        headers = {**self._headers, "ETag": etag}
        if _names(request.headers.get("if-none-match", ""), etag):
            return Response(status_code=304, headers=headers)
        return Response(content, media_type=self._media_type, headers=headers)


def _names(condition: str, etag: str) -> bool:
    return any(name.strip().removeprefix("W/") in ("*", etag.removeprefix("W/")) for name in condition.split(","))
