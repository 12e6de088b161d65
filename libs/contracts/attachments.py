"""Pictures and other files attached to a chat message."""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import Field, StringConstraints

from contracts.base import Label, Model

ATTACHMENTS_LIMIT: Final = 50
"""Maximum number of attachments of a message."""


class Attachment(Model):
    """A file attached to a message. Only its type and URL are stored; the file itself is never fetched."""

    type: Label
    """The type of the attachment, such as `image`, `sticker` or a media type."""
    url: Annotated[str, StringConstraints(max_length=2048, pattern=r"^[^\x00-\x1f\x7f-\x9f]*$")] | None = None
    """The URL of the file."""


Attachments = Annotated[
    tuple[Attachment, ...] | None,
    Field(max_length=ATTACHMENTS_LIMIT, description="Pictures and other files of the message."),
]
