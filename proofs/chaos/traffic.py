"""The load: seeded, endless, with every kind of input. Pure except for its own random state."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from contracts.instants import format_instant
from proofs.chaos.ledger import EXPLICIT, MESSAGE, REACTION, REPLY, Outgoing
from proofs.chaos.poison import BROKEN_HEADERS, spoil

HUMAN = (
    "Which is the fastest way to Hamburg on Friday?",
    "Find me a quiet hotel near the station, under 120 a night.",
    "How do I read a CSV file with pandas?",
    "No, that's wrong. I asked for Friday, not Saturday.",
    "That is not what I asked for.",
    "You misunderstood me, I need the return trip as well.",
    "Thanks, that works.",
    "Perfect, thank you so much!",
    "I'll go with the second one.",
    "And what does the first one cost?",
    "Also, does it have parking?",
    "What about Sunday instead?",
    "Forget it, never mind.",
    "Forget it, let's talk about something else.",
    "Okay.",
    "Hm, 真的吗? 🤔",
    "Can you find me the fastest way to Hamburg on Friday?",
    "I need a hotel that is quiet and close to the station, for less than 120.",
    "Wrong again, the price is not right.",
    "Great, book it please.",
    "Tell me more about the second option.",
    "What is the capital of Peru?",
    "This does not work, it raises a KeyError.",
    "Yes, exactly what I wanted.",
)
AGENT = (
    "The fastest connection on Friday is the ICE at 10:04, arriving at 12:31, from 49 euros.",
    "I found two hotels: the Wagner at 95 a night and the Alpha at 110 a night with parking.",
    "Use pandas.read_csv('file.csv'); pass sep=';' where the columns are separated by semicolons.",
    "Sorry about that. On Friday there is a train at 08:04 and one at 10:04.",
    "The return trip leaves on Sunday at 17:26 and costs 52 euros.",
    "You're welcome! Is there anything else I can do for you?",
    "I have booked the Alpha for two nights; the confirmation is on its way.",
    "The first option costs 49 euros, the second 63 euros with a seat reservation.",
    "The capital of Peru is Lima.",
    "Could you tell me a bit more about what you are looking for?",
    "A KeyError means that the column does not exist; print(df.columns) shows those that do.",
    "Parking is included at the Alpha and costs 12 a night at the Wagner.",
)
EMOJI: tuple[tuple[str, str, float | None], ...] = (
    ("👍", "👍", 0.6),
    ("👍🏽", "👍", 0.6),
    (":thumbsup:", "👍", 0.6),
    ("❤️", "❤", 0.8),
    ("❤", "❤", 0.8),
    ("😂", "😂", 0.7),
    ("😮", "😮", 0.5),
    (":open_mouth:", "😮", 0.5),
    ("😢", "😢", -0.3),
    ("👎", "👎", -0.6),
    ("👎🏿", "👎", -0.6),
    ("-1", "👎", -0.6),
    ("🧦", "🧦", None),
)
"""Written form, normalised form, and reward (None: no reward), from the specification's table."""
SECOND = 1_000_000
CONVERSATIONS = 60
LENGTH = 40
"""Number of messages after which a conversation is replaced by another."""
LATEST = 12.0
"""Maximum delay of a record, in seconds."""


@dataclass
class Conversation:
    tenant: str
    project: str
    id: str
    at: int
    people: list[str]
    agents: list[str]
    turn: str = ""
    messages: list[dict[str, Any]] = field(default_factory=list)

    @property
    def of_agents(self) -> list[dict[str, Any]]:
        return [m for m in self.messages if m["senderType"] == "agent"]


class Traffic:
    """Generator of records. `next(now)` returns the next one; `now` in microseconds limits the events' times."""

    def __init__(self, seed: int, *, poison: float = 0.01, tie: float = 0.05) -> None:
        self._rng = random.Random(seed)
        self._seed = seed
        self._poison = poison
        self._tie = tie
        self._ids: Counter[tuple[str, str]] = Counter()
        self._recent: list[Outgoing] = []
        self._open: list[Conversation] = []

    def next(self, now: int) -> Outgoing:
        rng = self._rng
        if self._recent and rng.random() < 0.02:
            return rng.choice(self._recent)
        topic, event = self._event(now)
        value: bytes | None = json.dumps(event, ensure_ascii=False).encode()
        if is_poison := rng.random() < self._poison:
            value = spoil(event, rng)
        headers = rng.choice(BROKEN_HEADERS) if rng.random() < (0.3 if is_poison else 0.02) else ()
        late = rng.random() < 0.06
        out = Outgoing(
            topic,
            f"{event['tenant']}/{event['project']}/{event['conversationId']}",
            value,
            headers,
            is_poison,
            scattered=rng.random() < 0.1,
            wait=rng.uniform(0.2, LATEST) if late else 0.0,
        )
        self._recent = [*self._recent[-200:], out]
        return out

    def _event(self, now: int) -> tuple[str, dict[str, Any]]:
        conversation = self._conversation(now)
        makers: list[tuple[Callable[[Conversation], tuple[str, dict[str, Any]]], float]] = [(self._message, 55)]
        if conversation.of_agents:
            makers += [(self._reaction, 22), (self._reply, 9), (self._explicit, 9), (self._edit, 4)]
        maker = self._rng.choices([m for m, _ in makers], [w for _, w in makers])[0]
        return maker(conversation)

    def _conversation(self, now: int) -> Conversation:
        rng = self._rng
        if len(self._open) < CONVERSATIONS:
            tenant, project = rng.choice((("north", "p1"), ("north", "p2"), ("south", "p1")))
            self._open.append(
                Conversation(
                    tenant,
                    project,
                    f"c{self._seed}-{self._id(tenant, project)}",
                    now - 3_600 * SECOND,
                    [f"user-{rng.randrange(9)}" for _ in range(rng.choice((1, 1, 2)))],
                    [f"agent-{rng.randrange(5)}" for _ in range(rng.choice((1, 1, 2)))],
                )
            )
        chosen = rng.choice(self._open)
        if len(chosen.messages) >= LENGTH or chosen.at > now - 60 * SECOND:
            self._open.remove(chosen)
        return chosen

    def _id(self, tenant: str, project: str) -> int:
        """Return an id that is unique within its project, so that only the scope distinguishes ids of different
        projects."""
        self._ids[tenant, project] += 1
        return self._ids[tenant, project]

    def _base(self, conversation: Conversation) -> dict[str, Any]:
        rng = self._rng
        if rng.random() >= self._tie:
            conversation.at += rng.randrange(1, 8 * SECOND)
        base: dict[str, Any] = {
            "eventId": f"e{self._seed}-{self._id(conversation.tenant, conversation.project)}",
            "occurredAt": format_instant(conversation.at),
            "tenant": conversation.tenant,
            "project": conversation.project,
            "conversationId": conversation.id,
        }
        if rng.random() < 0.3:
            base["sequence"] = rng.randrange(3)
        return base

    def _message(self, conversation: Conversation) -> tuple[str, dict[str, Any]]:
        rng = self._rng
        messages = conversation.messages
        from_agent = bool(messages) and (messages[-1]["senderType"] == "human") == (rng.random() < 0.9)
        event = self._base(conversation) | {
            "messageId": f"m{self._seed}-{self._id(conversation.tenant, conversation.project)}"
        }
        if from_agent:
            agent = rng.choice(conversation.agents)
            event |= {"senderId": agent, "senderType": "agent", "agentId": agent, "content": rng.choice(AGENT)}
            event |= rng.choice(({}, {"intent": "travel", "trackId": "t1", "bundleId": "b1", "agentVersion": "7"}))
        else:
            conversation.turn = f"t{self._seed}-{self._id(conversation.tenant, conversation.project)}"
            person = rng.choice(conversation.people)
            event |= {"senderId": person, "senderType": "human", "content": rng.choice(HUMAN)}
        if conversation.turn and rng.random() < 0.9:
            event["turnId"] = conversation.turn
        messages.append(event)
        return MESSAGE, event

    def _edit(self, conversation: Conversation) -> tuple[str, dict[str, Any]]:
        event = self._rng.choice(conversation.messages[-8:])
        words = AGENT if event["senderType"] == "agent" else HUMAN
        conversation.at += SECOND
        return MESSAGE, {**event, **self._base(conversation), "content": self._rng.choice(words) + " (edited)"}

    def _about(self, conversation: Conversation) -> dict[str, Any]:
        """Return the message of a reply or reaction: mostly an agent's, sometimes one that never arrives."""
        rng = self._rng
        if rng.random() < 0.004:
            ghost = f"never{self._seed}-{self._id(conversation.tenant, conversation.project)}"
            return {**rng.choice(conversation.of_agents), "messageId": ghost}
        return rng.choice(conversation.of_agents[-6:] if rng.random() < 0.93 else conversation.messages)

    def _original(self, about: dict[str, Any]) -> dict[str, Any]:
        if self._rng.random() >= 0.15:
            return {}
        kept = ("messageId", "conversationId", "turnId", "senderId", "senderType", "agentId", "content")
        return {"original": {name: about[name] for name in kept if name in about}}

    def _conversation_named(self, conversation: Conversation) -> str:
        return conversation.id if self._rng.random() >= 0.004 else f"{conversation.id}-other"

    def _reply(self, conversation: Conversation) -> tuple[str, dict[str, Any]]:
        rng = self._rng
        about = self._about(conversation)
        agent = rng.random() < 0.15
        sender = rng.choice(conversation.agents) if agent else rng.choice(conversation.people)
        event = self._base(conversation) | self._original(about) | {
            "messageId": f"r{self._seed}-{self._id(conversation.tenant, conversation.project)}",
            "originalMessageId": about["messageId"],
            "senderId": sender,
            "senderType": "agent" if agent else "human",
            "content": rng.choice(HUMAN),
        }  # fmt: skip
        return REPLY, event | {"conversationId": self._conversation_named(conversation)}

    def _reaction(self, conversation: Conversation) -> tuple[str, dict[str, Any]]:
        rng = self._rng
        about = self._about(conversation)
        agent = rng.random() < 0.1
        event = self._base(conversation) | self._original(about) | {
            "messageId": about["messageId"],
            "userId": rng.choice(conversation.agents if agent else conversation.people),
            "userType": "agent" if agent else rng.choice(("human", "privileged")),
            "emoji": rng.choice(EMOJI)[0],
        }  # fmt: skip
        if rng.random() < 0.5:
            event["action"] = rng.choice(("added", "removed"))
        return REACTION, event | {"conversationId": self._conversation_named(conversation)}

    def _explicit(self, conversation: Conversation) -> tuple[str, dict[str, Any]]:
        rng = self._rng
        about = rng.choice(conversation.of_agents[-4:])
        event = self._base(conversation) | {
            "turnId": about.get("turnId", about["messageId"]),
            "agentId": about["agentId"],
            "userId": rng.choice(conversation.people),
            "reaction": rng.choice(("ok", "ok", "not_ok", "neutral", None)),
        }
        return EXPLICIT, event | {"text": rng.choice(HUMAN)}


def races(seed: int, count: int, now: int, about: int | None = None) -> tuple[list[Outgoing], list[Outgoing]]:
    """Return `count` judgements for each of two writers, of two people on five turns of this race only.

    A lost write shows only if no later one covers it, so every race uses new turns; races with the same `about` use the
    same turns.
    """
    left, right = (_judgements(seed, writer, count, now, about or now) for writer in ("left", "right"))
    return left, right


def _judgements(seed: int, writer: str, count: int, now: int, about: int) -> list[Outgoing]:
    rng = random.Random(f"{seed}-{writer}-{now}")
    judgements = []
    for n in range(count):
        event = {
            "eventId": f"hot{seed}-{writer}-{now}-{n}",
            "occurredAt": format_instant(now - rng.randrange(3_600 * SECOND)),
            "tenant": "north",
            "project": "p1",
            "conversationId": f"hot{seed}",
            "turnId": f"hot{seed}-{about}-{rng.randrange(5)}",
            "agentId": "agent-1",
            "userId": f"user-{rng.randrange(2)}",
            "reaction": rng.choice(("ok", "not_ok", "neutral", None)),
            "text": f"{writer} {n}",
        }
        judgements.append(Outgoing(EXPLICIT, f"north/p1/hot{seed}", json.dumps(event).encode(), scattered=True))
    return judgements
