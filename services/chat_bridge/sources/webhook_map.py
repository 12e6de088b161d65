"""File format of webhook maps: the signature, the rules that find chat events, and the responses. No I/O.

`webhook_files.py` reads the files. `docgen.reference` prints the field descriptions.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    StringConstraints,
    WithJsonSchema,
    model_validator,
)

from chat_bridge.sources.webhook_time import TimeKind
from contracts.base import Id, Label, Name, Reaction
from servicekit.settings import FileSettings

ITEM = "@"
"""First part of a path that starts at the current item of the rule's list, not at the payload."""
_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")


def _parts(value: object) -> object:
    return tuple(value.split(".")) if isinstance(value, str) else value


def _as_list(value: object) -> object:
    return value if isinstance(value, list) else [value]


Where = Annotated[
    tuple[Annotated[str, StringConstraints(min_length=1, max_length=100)], ...],
    BeforeValidator(_parts),
    WithJsonSchema({"type": "string", "format": "path"}),
]
"""Path in a payload: names, or list indexes from 0, separated by dots. It may continue in a text that is JSON.

A leading `@` stands for the current item of the rule's list.
"""
Paths = Annotated[list[Where], BeforeValidator(_as_list)]
Wanted = Annotated[list[str | int | bool], BeforeValidator(_as_list), Field(min_length=1)]
When = Annotated[
    dict[str, Wanted],
    Field(
        description='The expected value at each path, or a list of accepted values; `"*"` accepts any value except '
        "null."
    ),
]
Header = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9-]{1,100}$"), AfterValidator(str.lower)]


class Signature(FileSettings):
    """Signature that proves that a request comes from the platform."""

    kind: Literal["hmac-sha256", "hmac-sha1", "ed25519", "token"] = Field(
        description="The algorithm; with `token` the header contains the secret itself."
    )
    secret: Annotated[str, StringConstraints(pattern=r"^[A-Z][A-Z0-9_]{2,99}$")] = Field(
        description="The environment variable with the secret, or the platform's public key for `ed25519`; "
        "a variable NAME_FILE may name a file with it instead."
    )
    key_encoding: Literal["text", "base64", "hex"] = Field(
        default="text", description="The encoding of the secret in its variable."
    )
    header: Header = Field(description="The header with the signature.")
    prefix: str = Field(default="", description="The text before the signature in its header.")
    encoding: Literal["hex", "base64"] = Field(default="hex", description="The encoding of the signature.")
    signed: str = Field(
        default="{body}",
        description="The signed text: `{body}`, `{timestamp}`, `{header:NAME}` and plain text.",
    )
    timestamp_header: Header | None = Field(
        default=None,
        description="The header with the time of the request, as Unix seconds or RFC 3339; must be signed. "
        "Requests more than five minutes before or after our clock are rejected.",
    )

    @model_validator(mode="after")
    def _covers_what_counts(self) -> Self:
        names = _PLACEHOLDER.findall(self.signed)
        if names.count("body") != 1:
            raise ValueError("signed must contain {body} once")
        if ("timestamp" in names) != (self.timestamp_header is not None):
            raise ValueError("timestamp_header and {timestamp} in signed need each other: unsigned times prove nothing")
        if any(name not in ("body", "timestamp") and not name.startswith("header:") for name in names):
            raise ValueError("the placeholders of signed are {body}, {timestamp} and {header:NAME}")
        return self

    def pieces(self) -> list[str]:
        """Split `signed` at its placeholders.

        Returns:
            Literal strings and placeholder names alternately, starting with a literal string.
        """
        return _PLACEHOLDER.split(self.signed)


class AttachmentPart(FileSettings):
    """Attachments of a message, such as a picture or a sticker."""

    path: Where = Field(description="The path of an object, or of a list in which each object is one attachment.")
    type: Label = Field(default="file", description="The kind of attachment.")
    type_at: Where | None = Field(default=None, description="The path of the kind in that object, if it has one.")
    url_at: Where | None = Field(default=None, description="The path of the URL in that object.")


class Rule(FileSettings):
    """Rule that converts a payload to a chat event. All matching rules apply, up to the first matching `ignore`."""

    kind: Literal["message", "deletion", "reaction", "judgement", "ignore"] = Field(
        description="The kind of event; `ignore` ends the search. A deletion is the same message without its text. A "
        "judgement is a click on the platform's own feedback control under an answer."
    )
    when: When = Field(default_factory=dict)
    each: Paths = Field(
        default_factory=list,
        description="One path or several, each of an object or of a list of at most 1,000 items; the rule applies to "
        "each of them, as `@`. In such a path, `*` stands for every item of a list.",
    )
    without: Where | None = Field(
        default=None, description="The path of a second list, whose items are left out of `each`."
    )
    writers: Literal["anyone", "agents", "system"] = Field(
        default="anyone",
        description="`agents`: ignore authors that are not in `[agents]`, such as staff. `system`: the platform wrote "
        "the message, which is neither question nor feedback; the author is the person whom it names.",
    )
    conversation: Annotated[list[Paths], BeforeValidator(_as_list)] = Field(
        default_factory=list,
        description="The parts of the conversation's id after the map's name: a path for each, or a list of which the "
        "first value counts.",
    )
    message: Where | None = Field(
        default=None, description="The message's id; for a reaction or judgement, the id of the message it is about."
    )
    author: Paths = Field(
        default_factory=list,
        description="The id of the author, or of the person who reacted; of several paths, the first value counts.",
    )
    judged: Where | None = Field(
        default=None,
        description="For a judgement of a whole conversation, instead of `message`: the id of the judged author, one "
        "of `[agents]`. The judgement is about this agent's last answer.",
    )
    at: Paths = Field(
        default_factory=list,
        description="The time of the event: one path or several, such as the time of the edit and that of the message; "
        "the first value counts.",
    )
    time: TimeKind | None = Field(default=None, description="The kind of that time; by default the map's.")
    sequence: Where | None = Field(
        default=None, description="A number, at least 0, that orders events of the same time."
    )
    text: Paths = Field(
        default_factory=list,
        description="The text of a message, or a judgement's reason: one path or several, the first value counts.",
    )
    attachments: list[AttachmentPart] = Field(
        default_factory=list,
        description="The attachments of a message; a message with attachments needs no text. See the section below.",
    )
    reply_to: Where | None = Field(
        default=None, description="The id of the message that this one answers; makes a person's message a reply."
    )
    reply_unless: When = Field(
        default_factory=dict,
        description="Conditions of which one suffices: despite `reply_to` the message is not a reply, because the "
        "platform marks a thread or topic in this way.",
    )
    thread: Where | None = Field(default=None, description="The id of the thread inside the conversation, if any.")
    thread_when: When = Field(default_factory=dict)
    emoji: Where | None = Field(default=None, description="The emoji of a reaction, or its name in `[emojis]`.")
    judgement: Where | None = Field(default=None, description="The judgement, by its name in `[judgements]`.")
    action: Literal["added", "removed"] = Field(
        default="added", description="The change of a reaction or judgement. See also the map's `reactions`."
    )

    @model_validator(mode="after")
    def _has_what_its_kind_needs(self) -> Self:
        needed = {
            "message": ("conversation", "message", "author", "at", "text"),
            "deletion": ("conversation", "message", "author", "at"),
            "reaction": ("conversation", "message", "author", "at", "emoji"),
            "judgement": ("conversation", "message" if self.judged is None else "judged", "author", "at", "judgement"),
            "ignore": (),
        }[self.kind]
        if missing := [name for name in needed if not getattr(self, name)]:
            raise ValueError(f"a rule of the kind {self.kind} needs {', '.join(missing)}")
        return self


class MapAnswer(FileSettings):
    """Response to send after the events were written to the log. The first matching response is sent."""

    when: When = Field(default_factory=dict)
    status: Annotated[int, Field(ge=200, le=299)] = Field(default=200, description="The HTTP status.")
    body: dict[str, Any] | None = Field(
        default=None, description="The JSON object to send as the body; by default no body."
    )

    @model_validator(mode="after")
    def _may_have_its_body(self) -> Self:
        if self.status == 204 and self.body is not None:
            raise ValueError("204 has no body")
        return self


class WebhookMap(FileSettings):
    """File that defines the conversion of a platform's webhooks to chat events."""

    tenant: Name = Field(description="The tenant of the events.")
    project: Name = Field(description="The project of the events.")
    time: TimeKind = Field(
        default="rfc3339",
        description="The kind of times: `iso8601` may lack an offset and is then UTC; `seconds` and `milliseconds` "
        "count from 1970; `snowflake` is a Discord id, which contains its time.",
    )
    text: Literal["plain", "html"] = Field(default="plain", description="The format of texts; HTML becomes plain text.")
    signature: Signature = Field(description="See the section below.")
    agents: dict[str, Id] = Field(
        default_factory=dict, description="Agent ids by author id; every other author is a person."
    )
    emojis: dict[str, str] = Field(default_factory=dict, description="Emojis by the platform's names.")
    reactions: Literal["set", "replaced"] = Field(
        default="set",
        description="`set`: a person may put several emojis on a message, and a removal names the emoji. `replaced`: a "
        "person has one emoji per message: a new one replaces it, and an empty or missing emoji removes it. In both, a "
        "removal with an empty or missing emoji removes all.",
    )
    judgements: dict[str, Reaction] = Field(
        default_factory=dict,
        description="Judgements by the platform's names or ratings: `ok`, `neutral` or `not_ok`.",
    )
    rule: Annotated[list[Rule], Field(min_length=1)] = Field(description="See the section below.")
    answer: list[MapAnswer] = Field(default_factory=list, description="See the section below.")


class MappedWebhook(FileSettings):
    """A map file, the name of its source, and the key that verifies requests.

    `secret` is the shared secret or the platform's public key.
    """

    name: Name
    map: WebhookMap
    secret: Annotated[bytes, Field(repr=False, min_length=1)]
