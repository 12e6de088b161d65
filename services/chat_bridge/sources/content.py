"""Conversion of a platform's texts and attachments to those of chat events. No I/O."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError

from contracts.attachments import ATTACHMENTS_LIMIT, Attachment

_ATTACHMENT: Final[TypeAdapter[Attachment]] = TypeAdapter(Attachment)


def unescaped(text: str) -> str:
    """Decode HTML escapes. A text with a character reference of thousands of digits is returned unchanged."""
    try:
        return html.unescape(text)
    except ValueError:
        return text


def attachment(kind: object, url: object, default: str = "file") -> dict[str, Any]:
    """Return an attachment in the format of chat events.

    Args:
        kind: The attachment's type. An invalid type is replaced by `default`.
        url: The attachment's URL. An invalid URL is omitted.
        default: The type to use if `kind` is invalid.
    """
    part = {"type": kind} if _is_valid({"type": kind}) else {"type": default}
    return part | {"url": url} if isinstance(url, str) and _is_valid(part | {"url": url}) else part


def with_attachments(attachments: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return `{"attachments": [...]}` for an event, or an empty dictionary if there are no attachments.

    Attachments beyond the allowed number are dropped.
    """
    parts = list(attachments)[:ATTACHMENTS_LIMIT]
    return {"attachments": parts} if parts else {}


def _is_valid(part: Mapping[str, object]) -> bool:
    try:
        _ATTACHMENT.validate_python(part)
    except ValidationError:
        return False
    return True
