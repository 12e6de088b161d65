"""What the feedback service knows of turns: who answered, and whom. Pure but for the port."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

from contracts.chat import ChatMessageIngested
from contracts.provenance import Provenance, provenance_of


class TurnKey(NamedTuple):
    tenant: str
    project: str
    conversation_id: str
    turn_id: str


@dataclass(frozen=True, slots=True)
class Answer:
    """An agent's message. `at` in microseconds; of several on one turn the latest stands."""

    at: int
    message_id: str
    agent_id: str
    provenance: Provenance

    @property
    def place(self) -> tuple[int, str]:
        return self.at, self.message_id


@dataclass(frozen=True, slots=True)
class Asker:
    """A person who wrote on a turn. `at` in microseconds; of several the first stands."""

    at: int
    user_id: str

    @property
    def place(self) -> tuple[int, str]:
        return self.at, self.user_id


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn, as far as it is known: `answer` is None until an agent has written on it."""

    key: TurnKey
    answer: Answer | None = None
    asker: Asker | None = None

    def joined(self, other: Turn) -> Turn:
        """What both know together, whichever came first."""
        answers = [answer for answer in (self.answer, other.answer) if answer is not None]
        askers = [asker for asker in (self.asker, other.asker) if asker is not None]
        return replace(
            self,
            answer=max(answers, key=lambda answer: answer.place, default=None),
            asker=min(askers, key=lambda asker: asker.place, default=None),
        )


class Registry(Protocol):
    async def add(self, turns: Collection[Turn]) -> set[TurnKey]:
        """Join what `turns` tell (at most one per key) with what is known; gives the turns that were new or changed.

        Committed on return.
        """
        ...

    async def find(self, key: TurnKey) -> Turn | None:
        """What is known of a turn."""
        ...

    async def count(self, tenant: str, project: str, conversation_id: str) -> int:
        """How many turns of a conversation are known."""
        ...

    async def ping(self) -> None:
        """Raise if the database does not answer."""
        ...


def turn_of(event: ChatMessageIngested) -> Turn | None:
    """What a message tells of its turn.

    An agent's message without a turn id is a turn of its own; a person's belongs to none.
    """
    if event.sender_type == "agent" and event.agent_id is not None:
        answer = Answer(event.occurred_at, event.message_id, event.agent_id, provenance_of(event))
        return Turn(_key(event, event.turn_id or event.message_id), answer=answer)
    if event.turn_id is None:
        return None
    return Turn(_key(event, event.turn_id), asker=Asker(event.occurred_at, event.sender_id))


def collapse(turns: Iterable[Turn]) -> list[Turn]:
    """One turn per key, by key."""
    joined: dict[TurnKey, Turn] = {}
    for turn in turns:
        held = joined.get(turn.key)
        joined[turn.key] = turn if held is None else held.joined(turn)
    return [joined[key] for key in sorted(joined)]


def _key(event: ChatMessageIngested, turn_id: str) -> TurnKey:
    return TurnKey(event.tenant, event.project, event.conversation_id, turn_id)
