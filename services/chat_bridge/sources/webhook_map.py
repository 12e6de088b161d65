"""How a map describes a platform's webhooks: how requests are signed, where in a payload lies what a chat event needs.

Pure; `webhook_files.py` reads the files.
"""

from __future__ import annotations

import re
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, model_validator

from contracts.base import Id, Name

ITEM = "@"
"""The first part of a path that begins at an item of the rule's list instead of at the payload."""
_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")


def _parts(value: object) -> object:
    return tuple(value.split(".")) if isinstance(value, str) else value


def _as_list(value: object) -> object:
    return value if isinstance(value, list) else [value]


Where = Annotated[tuple[Annotated[str, StringConstraints(min_length=1, max_length=100)], ...], BeforeValidator(_parts)]
"""Names (of a list: numbers from 0) with dots between; `@` in front begins at the item of the rule's list."""
Wanted = Annotated[list[str | int | bool], BeforeValidator(_as_list), Field(min_length=1)]
Header = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9-]{1,100}$"), AfterValidator(str.lower)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)


class Signature(_Part):
    """How a request shows that it is the platform's.

    `secret` names the environment variable that holds the secret (or NAME_FILE a file with it); `header` holds
    `prefix` and the signature, in `encoding`. What is signed is `signed`, with `{body}`, `{timestamp}` (the header
    `timestamp_header`: Unix seconds or RFC 3339, at most `window_seconds` from now) and `{header:NAME}` filled in. Of
    the kind `token` the header holds the secret itself.
    """

    kind: Literal["hmac-sha256", "hmac-sha1", "token"]
    secret: Annotated[str, StringConstraints(pattern=r"^[A-Z][A-Z0-9_]{2,99}$")]
    key_encoding: Literal["text", "base64"] = "text"
    header: Header
    prefix: str = ""
    encoding: Literal["hex", "base64"] = "hex"
    signed: str = "{body}"
    timestamp_header: Header | None = None
    window_seconds: Annotated[int, Field(ge=1, le=3600)] = 300

    @model_validator(mode="after")
    def _covers_what_counts(self) -> Self:
        names = _PLACEHOLDER.findall(self.signed)
        if names.count("body") != 1:
            raise ValueError("signed must hold {body} once")
        if ("timestamp" in names) != (self.timestamp_header is not None):
            raise ValueError("timestamp_header and {timestamp} in signed come together: unsigned times prove nothing")
        if any(name not in ("body", "timestamp") and not name.startswith("header:") for name in names):
            raise ValueError("signed knows {body}, {timestamp} and {header:NAME}")
        return self

    def pieces(self) -> list[str]:
        """`signed` cut up: plain text and names of placeholders by turns, text first."""
        return _PLACEHOLDER.split(self.signed)


class Rule(_Part):
    """What a payload means for which every path in `when` holds its value, or one of its values ("*": any but null).

    Without `when` every payload. With `each`, the path of a list, once for every item of it. `writers` "agents" passes
    over whoever is not named in `agents`. A rule of the kind `ignore` ends the search.
    """

    kind: Literal["message", "deletion", "reaction", "ignore"]
    when: dict[str, Wanted] = Field(default_factory=dict)
    each: Where | None = None
    writers: Literal["anyone", "agents"] = "anyone"
    conversation: Annotated[list[Where], BeforeValidator(_as_list)] = Field(default_factory=list)
    message: Where | None = None
    author: Where | None = None
    at: Where | None = None
    text: Where | None = None
    reply_to: Where | None = None
    thread: Where | None = None
    emoji: Where | None = None
    action: Literal["added", "removed"] = "added"

    @model_validator(mode="after")
    def _has_what_its_kind_needs(self) -> Self:
        needed = {
            "message": ("conversation", "message", "author", "at", "text"),
            "deletion": ("conversation", "message", "author", "at"),
            "reaction": ("conversation", "message", "author", "at", "emoji"),
            "ignore": (),
        }[self.kind]
        if missing := [name for name in needed if not getattr(self, name)]:
            raise ValueError(f"a rule of the kind {self.kind} needs {', '.join(missing)}")
        return self


class WebhookMap(_Part):
    """One platform's webhooks: into which tenant and project, by which rules.

    `agents` gives agent ids by an author's id; everybody else is a person. `emojis` gives an emoji for what the
    platform calls it.
    """

    tenant: Name
    project: Name
    time: Literal["rfc3339", "seconds", "milliseconds"] = "rfc3339"
    text: Literal["plain", "html"] = "plain"
    signature: Signature
    agents: dict[str, Id] = Field(default_factory=dict)
    emojis: dict[str, str] = Field(default_factory=dict)
    rule: Annotated[list[Rule], Field(min_length=1)]


class Source(_Part):
    """A map by its name, with the secret that it names."""

    name: Name
    map: WebhookMap
    secret: Annotated[bytes, Field(repr=False, min_length=1)]
