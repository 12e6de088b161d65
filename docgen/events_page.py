"""Generator of docs/events.md, from the topic table and the event models."""

from __future__ import annotations

import json
from inspect import getdoc
from pathlib import Path
from typing import Any, NamedTuple

from contracts.topics import CHAT_MESSAGE, CHAT_REACTION, CHAT_REPLY, FOREVER, TOPICS, Topic
from docgen.asyncapi import examples_of

_BOUNDS = (("minimum", "from"), ("maximum", "to"))
HEAD = """\
# Events

<!-- Made from libs/contracts by `make docs`; edit the models there. -->

For engineers of programs that send or read events: the fields of all events, from those that chat services send to
those that learners read. The AsyncAPI document has the same descriptions, and a JSON schema for each event
([asyncapi.json](../libs/contracts/asyncapi.json), `GET /asyncapi.json`).

- A chat service sends the three `chat.*` topics. The record key must be `<tenant>/<project>/<conversationId>`, so that
  a conversation's events stay in order. A record has at most 1 MiB.
- A service with posts, such as a forum, sends the three `post.*` topics, under the record key
  `<tenant>/<project>/post:<postId>`. [Posts](sources.md#posts-of-a-forum) explains them.
- A learner reads `feedback.created` from the beginning and keeps, for each `feedbackId`, the record with the highest
  `revision`. A record without a value (a tombstone) means that the revisions up to its header
  `revision` were erased. Keep this revision: tombstones are written to all partitions, so an older announcement may
  be read later from another partition.
- The other topics connect the services. Other programs may read them, but must not write to them.
- Readers ignore unknown fields. Optional fields may be omitted. Times are RFC 3339 with an offset.
- Partitions may be added to all topics ([operations.md](operations.md#add-partitions)).
- Records that cannot be processed go to the topic's dead-letter topic, `<topic>.dlq`, with the reason.
"""
LEARNERS = """
## Which rewards count

A program that follows these rules computes the rewards of
[examples/rlhf_consumer.py](../examples/rlhf_consumer.py), which you may copy.

1. **Revisions**: of each `feedbackId`, the record with the highest `revision` counts, unless it is cleared (`value` is
   null) or erased by a tombstone.
2. **Replies apart**: a record of the type `implicit` is a reply, that is engagement, and has no `reaction`. Do not add
   its value to those of verdicts.
3. **One verdict per person and turn**: of a person's emoji (`reaction`) and judgements (`explicit`) on one turn, the
   newest by (`occurredAt`, `feedbackId`) counts. A judgement that was taken back still hides the person's older emoji;
   an emoji that was taken back does not. The person is (`tenant`, `userId`), and the turn is (`tenant`, `project`,
   `conversationId`, `turnId`).
4. **Machine and reviewers**: every record with the origin `machine` counts. Of a turn's reviews (origin `reviewer`),
   the newest counts, whoever wrote it; the machine's verdicts on that turn are then announced as cleared.
5. **Confidence**: `value` does not include `confidence`. Multiply them if you add the machine's verdicts to people's,
   whose confidence is 1. Do not multiply if you select verdicts by their confidence.
6. **Spam**: the first 60 replies and emoji of a person in a minute of `occurredAt` (UTC) count, by
   (`occurredAt`, `feedbackId`). Kafka is not limited, because its producers vouch for their users. Judgements over HTTP
   are limited when they arrive.
"""
QUESTIONS = """
## Which question an answer answers

`questionMessageId` is computed by one rule. The first of these messages that exists is the question:

1. the person's message that the answer replies to (`replyToMessageId`). A reply to the first message of the answer's
   thread points to no message, because some chats send every message of a thread as such a reply.
2. the latest message by a person in the answer's turn
3. the latest message by the person whom the answer addresses by name (`@ann ...`, `ann, ...`), among the last
   24 people's messages in the answer's thread or, outside of threads, in the channel
4. the latest message by a person there

Messages of agents, empty messages and deleted ones are never questions. "Latest" means the last one before the answer,
by `occurredAt` and `sequence` of the messages' first versions. Without `sequence`, a message with the answer's time is
the question if it was logged before the answer or is the first one after it. Two answers with one question are
siblings, and feedback on each of them counts for that answer. A judgement that names only the turn is about the turn's
last answer.

An event has the question that was known when it was written: messages may arrive late, and the bridge, which does not
keep people's names, does not apply rule 3. Reports correct their own rows when a message arrives late, is edited or is
deleted.
"""
STYLES_HEAD = """
## Other spellings

Chat services may keep their own spellings. The following are accepted too, and are normalised for all readers:

| | in the event | read as |
|---|---|---|
"""


class Style(NamedTuple):
    """Accepted spelling that differs from the models' own, with a golden message and the fields that illustrate it."""

    title: str
    topic: Topic
    example: str
    fields: tuple[str, ...]
    read_as: str


STYLES = (
    Style(
        "any role",
        CHAT_REACTION,
        "other_role",
        ("userType",),
        "a person with that role; only `agent` means an agent",
    ),
    Style(
        "an agent's message without `agentId`",
        CHAT_MESSAGE,
        "agent_by_sender",
        ("senderId", "senderType"),
        "`senderId` is the agent",
    ),
    Style(
        "a picture or a sticker",
        CHAT_REPLY,
        "sticker",
        ("content", "attachments"),
        "a message without text: it counts as a reply, but no verdict is inferred",
    ),
    Style(
        "a time with a space, without seconds, with `+0000`",
        CHAT_MESSAGE,
        "time_with_space",
        ("occurredAt",),
        "`2026-03-01T09:30:00.000000Z`",
    ),
    Style(
        "a time in epoch milliseconds",
        CHAT_MESSAGE,
        "time_in_milliseconds",
        ("occurredAt",),
        "`2026-03-01T09:30:00.000000Z`; a number that means a time before 1973, such as epoch seconds, is rejected",
    ),
    Style(
        "numeric ids",
        CHAT_MESSAGE,
        "numeric_ids",
        ("eventId", "conversationId"),
        'their digits, for any size: `9007199254740993` and `"9007199254740993"` are the same id',
    ),
    Style("an empty optional id", CHAT_MESSAGE, "numeric_ids", ("turnId",), "no turn"),
    Style(
        "an emoji in another form",
        CHAT_REACTION,
        "heart",
        ("emoji",),
        "❤️: variants of a heart, skin tones and `:shortcodes:` are one emoji",
    ),
)
"""All accepted spellings, in the order of the page."""


def events_page() -> str:
    """Return the page as Markdown."""
    styles, sections = map(_style, STYLES), map(_section, TOPICS)
    return "".join((HEAD, LEARNERS, STYLES_HEAD, *styles, QUESTIONS, *sections))


def _style(style: Style) -> str:
    example = dict(examples_of(style.topic))[style.example]
    shown = json.dumps({name: example[name] for name in style.fields}, ensure_ascii=False)
    return f"| {style.title} | `{shown}` | {style.read_as} |\n"


def _section(topic: Topic) -> str:
    schema = topic.event.model_json_schema(by_alias=True)
    _, example = examples_of(topic)[0]
    kept = "forever" if topic.retention_ms == FOREVER else f"{topic.retention_ms // 86_400_000} days"
    only = ", the last record of each key" if topic.compacted else ""
    readers = ", ".join(topic.consumers) or "any subscriber"
    parts = [
        f"\n## `{topic.name}`\n\n{getdoc(topic.event)}\n\n",
        f"Written by {topic.producer}, read by {readers}. Key: {topic.key_name}. ",
        f"Kept {kept}{only}.\n\n",
        _fields(schema, schema),
    ]
    for name, inner in schema.get("$defs", {}).items():
        parts += [f"\n`{name}`: {inner['description']}\n\n", _fields(inner, schema)]
    parts.append(f"\n```json\n{json.dumps(example, ensure_ascii=False, indent=2)}\n```\n")
    return "".join(parts)


def _fields(node: dict[str, Any], root: dict[str, Any]) -> str:
    required = set(node.get("required", ()))
    rows = ["| field | type | |\n|---|---|---|\n"]
    for name, field in node["properties"].items():
        optional = "" if name in required else ", optional"
        rows.append(f"| `{name}` | {type_of(field)}{optional} | {' '.join(field['description'].split())} |\n")
    return "".join(rows)


def files() -> dict[Path, str]:
    """Return the text of the page, by path."""
    return {Path(__file__).parents[1] / "docs" / "events.md": events_page()}


def type_of(field: dict[str, Any]) -> str:
    """Describe a JSON Schema type in a few words, such as "text or null", "integer, from 1" or "`ok`, `not_ok`"."""
    if "anyOf" in field:
        return " or ".join(type_of(branch) for branch in field["anyOf"])
    if "$ref" in field:
        return f"`{field['$ref'].rpartition('/')[2]}`"
    if "enum" in field or "const" in field:
        return ", ".join(f"`{json.dumps(choice).strip(chr(34))}`" for choice in field.get("enum", [field.get("const")]))
    match field.get("type"):
        case "string":
            words = {"date-time": "time", "uuid": "UUID"}.get(field.get("format", ""), "text")
            return words + (f" up to {field['maxLength']:,}" if "maxLength" in field else "")
        case "array":
            return f"list of {type_of(field['items'])}" + (
                f", up to {field['maxItems']}" if "maxItems" in field else ""
            )
        case "object":
            return "object"
        case "integer" | "number" as kind:
            bounds = [f" {word} {field[name]:,}" for name, word in _BOUNDS if name in field and field[name] < 2**53]
            return f"{kind}{',' if bounds else ''}{''.join(bounds)}"
        case other:
            return str(other or "anything")
