"""Events of one history, drawn from the seed: messages, edits, replies, reactions, verdicts, invalid input."""

from __future__ import annotations

import json
from dataclasses import dataclass
from random import Random
from typing import Any

from contracts.base import SHORTEST_EVENT
from contracts.ids import conversation_key
from contracts.instants import SECOND, format_instant
from contracts.topics import CHAT_MESSAGE, CHAT_REACTION, CHAT_REPLY, ERASURE_REQUESTED, EXPLICIT_RECEIVED, Topic
from proofs.chaos.ledger import Entry, digest
from proofs.simulation.world import EPOCH_SECONDS
from servicekit.log.records import Message

START = (EPOCH_SECONDS - 86_400) * SECOND
EMOJI = ("👍", "❤️", "👎", "🧦")
Fields = dict[str, Any]


@dataclass(frozen=True)
class Said:
    """Event as its producer wrote it; `fields` is None if it is not a valid event."""

    topic: Topic
    value: bytes | None
    fields: Fields | None

    @property
    def is_erasure(self) -> bool:
        return self.topic is ERASURE_REQUESTED

    @property
    def entry(self) -> Entry:
        """The event as the oracle reads it, with no position in the log: times and sequences differ in a history."""
        text = None if self.fields is None else (self.value or b"").decode()
        return Entry(self.topic.name, 0, 0, digest(self.value), text)

    def message(self, rng: Random) -> Message:
        """Return the event's record: in half of the cases without a key on a random partition, else under its key."""
        if self.fields is None or rng.random() < 0.5:
            return Message(self.topic.name, None, self.value, (), rng.randrange(self.topic.partitions))
        if self.is_erasure:
            return Message(self.topic.name, f"{self.fields['tenant']}/{self.fields['userId']}", self.value)
        key = conversation_key(self.fields["tenant"], self.fields["project"], self.fields["conversationId"])
        return Message(self.topic.name, key, self.value)


class Author:
    """Generator of one history's events."""

    def __init__(self, rng: Random) -> None:
        self._rng = rng
        self._count = 0
        self.said: list[Said] = []
        self.messages: list[Fields] = []

    def write(self) -> list[Said]:
        rng = self._rng
        for tenant, conversation in (("acme", "c1"), ("globex", "c1"), ("acme", "c2")):
            self._conversation(tenant, conversation, rng.randint(5, 9) if conversation == "c2" else rng.randint(8, 14))
        agents = [m for m in self.messages if m["senderType"] == "agent"]
        liked = rng.sample(agents, min(4, len(agents)))
        for _ in range(rng.randint(16, 24)):
            self._reaction(rng.choice(liked) if rng.random() < 0.85 else rng.choice(self.messages))
        for _ in range(rng.randint(6, 10)):
            self._reply(rng.choice(agents) if rng.random() < 0.8 else rng.choice(self.messages))
        judged = rng.sample(agents, min(2, len(agents)))
        for _ in range(rng.randint(8, 12)):
            self._explicit(rng.choice(judged))
        for message in rng.sample(self.messages, 3):
            self._edit(message)
        for message in rng.sample([m for m in self.messages if m["senderType"] == "human"], 2):
            self._as_reply(message, rng.choice(agents))
        for _ in range(rng.randint(1, 3)):
            self._nonsense()
        if rng.random() < 0.4:
            self._erasure(rng.choice(("acme", "globex")), rng.choice(("user1", "user2", "user3")))
        return self.said

    def _conversation(self, tenant: str, conversation: str, length: int) -> None:
        occurred_at = START
        for number in range(length):
            occurred_at += self._rng.randint(0, 90) * SECOND
            agent = self._rng.random() < 0.5
            fields = self._event(tenant, conversation, occurred_at) | {
                "messageId": f"m{number}",
                "turnId": f"{conversation}-t{number // 2}",
                "senderId": "bot" if agent else f"user{self._rng.randint(1, 3)}",
                "senderType": "agent" if agent else "human",
                "content": f"{conversation} says {number}",
                **({"agentId": "bot"} if agent else {}),
            }
            self.messages.append(fields)
            self._say(CHAT_MESSAGE, fields)
        if not any(m["senderType"] == "agent" for m in self.messages[-length:]):
            self._conversation(tenant, f"{conversation}x", length)

    def _edit(self, message: Fields) -> None:
        later = {
            "eventId": self._id(),
            "occurredAt": self._at(START + 5_000 * SECOND),
            "content": f"{self._id()} edited",
        }
        self._say(CHAT_MESSAGE, message | later)

    def _reaction(self, message: Fields) -> None:
        rng = self._rng
        fields = self._about(message) | {
            "messageId": message["messageId"],
            "userId": rng.choice(("user1", "user2", "bot")),
            "userType": "human",
            "emoji": rng.choice(EMOJI),
            "action": rng.choice(("added", "added", "removed")),
        }
        if rng.random() < 0.08:
            fields["messageId"] = "never-published"
        elif rng.random() < 0.05:
            fields["conversationId"] = "another"
        self._say(CHAT_REACTION, fields)

    def _reply(self, message: Fields) -> None:
        rng = self._rng
        fields = self._about(message) | {
            "messageId": f"r{self._count}",
            "originalMessageId": message["messageId"] if rng.random() < 0.9 else "never-published",
            "senderId": rng.choice(("user1", "user2")),
            "senderType": "human",
            "content": f"reply {self._count}",
        }
        self._say(CHAT_REPLY, fields)

    def _as_reply(self, message: Fields, about: Fields) -> None:
        """Publish an existing message as a reply, too, at a time of its own."""
        if message["messageId"] == about["messageId"]:
            return
        names = ("messageId", "senderId", "senderType", "content")
        occurred_at = START + self._rng.randint(0, 600) * SECOND
        reply = self._event(message["tenant"], message["conversationId"], occurred_at)
        self._say(
            CHAT_REPLY, reply | {name: message[name] for name in names} | {"originalMessageId": about["messageId"]}
        )

    def _explicit(self, message: Fields) -> None:
        rng = self._rng
        fields = self._about(message) | {
            "turnId": message["turnId"],
            "agentId": "bot",
            "userId": rng.choice(("user1", "user2")),
            "reaction": rng.choice(("ok", "not_ok", "neutral", None)),
            "text": f"because {self._count}",
        }
        fields.pop("original", None)
        self._say(EXPLICIT_RECEIVED, fields)

    def _erasure(self, tenant: str, user: str) -> None:
        fields = {"eventId": self._id(), "occurredAt": self._at(START), "tenant": tenant, "userId": user}
        self._say(ERASURE_REQUESTED, fields | {"requestId": self._id()})

    def _nonsense(self) -> None:
        rng = self._rng
        fields = self._event("acme", "c1", START)
        broken = (
            b"{not json".ljust(SHORTEST_EVENT),
            b"\xff\xfe",
            None,
            json.dumps(fields).encode(),
            json.dumps({**self.messages[0], "eventId": self._id(), "occurredAt": "2090-01-01T00:00:00Z"}).encode(),
        )
        self.said.append(Said(rng.choice((CHAT_MESSAGE, CHAT_REPLY, CHAT_REACTION)), rng.choice(broken), None))

    def _about(self, message: Fields) -> Fields:
        fields = self._event(message["tenant"], message["conversationId"], START + self._rng.randint(0, 4) * SECOND)
        if self._rng.random() < 0.2:
            names = ("messageId", "conversationId", "turnId", "senderId", "senderType", "agentId", "content")
            fields["original"] = {name: message[name] for name in names if name in message}
        return fields

    def _event(self, tenant: str, conversation: str, occurred_at: int) -> Fields:
        return {
            "eventId": self._id(),
            "occurredAt": self._at(occurred_at),
            "sequence": self._count,
            "tenant": tenant,
            "project": "p",
            "conversationId": conversation,
        }

    def _say(self, topic: Topic, fields: Fields) -> None:
        self.said.append(Said(topic, json.dumps(fields, ensure_ascii=False).encode(), fields))

    def _id(self) -> str:
        self._count += 1
        return f"e{self._count}"

    def _at(self, moment: int) -> str:
        return format_instant(moment)
