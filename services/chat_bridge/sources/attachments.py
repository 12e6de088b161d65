"""Convert a platform's attachments to the format of chat events. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError

from contracts.attachments import ATTACHMENTS_LIMIT, Attachment

_ATTACHMENT: Final[TypeAdapter[Attachment]] = TypeAdapter(Attachment)


def attachment(kind: object, url: object, default: str = "file") -> dict[str, Any]:
    """Return an attachment with this type and URL.

    An invalid type is replaced by `default`; an invalid URL is omitted.
    """
    part = {"type": kind} if _is_valid({"type": kind}) else {"type": default}
    return part | {"url": url} if isinstance(url, str) and _is_valid(part | {"url": url}) else part


def with_attachments(attachments: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the field `attachments` of an event, truncated to the allowed number.

    Return an empty dictionary if there are no attachments.
    """
    found = list(attachments)[:ATTACHMENTS_LIMIT]
    return {"attachments": found} if found else {}


def _is_valid(part: Mapping[str, object]) -> bool:
    try:
        _ATTACHMENT.validate_python(part)
    except ValidationError:
        return False
    return True
