"""Registry of turns, with the answer and the asker of each turn. No I/O, except through the store's interface."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from contracts.chat import ChatMessageIngested
from contracts.exchange import thread_of
from contracts.provenance import Provenance, provenance_of
from contracts.versions import UNLOGGED, LogPosition, MessageEvent, message_in, version_of


class TurnKey(NamedTuple):
    tenant: str
    project: str
    conversation_id: str
    turn_id: str


@dataclass(frozen=True, slots=True)
class AgentAnswer:
    """An agent's answer in a turn.

    If there are several messages, or several versions of a message, the one with the highest version is used.
    """

    version: bytes
    message_id: str
    agent_id: str
    provenance: Provenance
    reply_to: str | None = None
    thread_id: str | None = None

    @property
    def rank(self) -> tuple[bytes, str]:
        return self.version, self.message_id


@dataclass(frozen=True, slots=True)
class Asker:
    """The person who asked in a turn, or the first one if several people wrote.

    `at` is the time of the question in microseconds.
    """

    at: int
    user_id: str
    message_id: str | None = None

    @property
    def place(self) -> tuple[int, str]:
        return self.at, self.user_id


class ProjectPerson(NamedTuple):
    """Person in a project."""

    tenant: str
    project: str
    user_id: str


@dataclass(frozen=True, slots=True)
class Role:
    """A person's user type, according to the person's message with the highest version."""

    person: ProjectPerson
    user_type: str
    version: bytes


@dataclass(frozen=True, slots=True)
class RegisteredTurn:
    """Known facts about a turn. `answer` is None until an agent has answered."""

    key: TurnKey
    answer: AgentAnswer | None = None
    asker: Asker | None = None

    @property
    def question_message_id(self) -> str | None:
        """Message id of the turn's question.

        If the registry does not contain the question, this is the id of the message that the answer replies to, or
        None.
        """
        if self.asker and self.asker.message_id:
            return self.asker.message_id
        answer = self.answer
        return None if answer is None or answer.reply_to == answer.thread_id else answer.reply_to

    def joined(self, other: RegisteredTurn) -> RegisteredTurn:
        """Return these facts merged with other facts about the same turn, in any order."""
        answer, asker = self.answer, self.asker
        if answer is None or (other.answer is not None and other.answer.rank > answer.rank):
            answer = other.answer
        if asker is None or (other.asker is not None and other.asker.place < asker.place):
            asker = other.asker
        return RegisteredTurn(self.key, answer, asker)


class KnownFacts(NamedTuple):
    """Result of a look-up: the facts about a turn and a person. Unknown values are None.

    Attributes:
        user_type: The person's latest user type.
        erased_at: Time of the person's latest erasure in microseconds.
    """

    turn: RegisteredTurn | None = None
    user_type: str | None = None
    erased_at: int | None = None


class Registry(Protocol):
    async def add(self, turns: Collection[RegisteredTurn], roles: Collection[Role] = ()) -> set[TurnKey]:
        """Merge turns and roles into the stored ones, and commit.

        Args:
            turns: At most one per key.
            roles: At most one per person.

        Returns:
            The keys of the turns that were added or changed.
        """
        ...

    async def find(self, key: TurnKey, user_id: str) -> KnownFacts:
        """Return the known facts about a turn, and the person's user type in the turn's project."""
        ...

    async def count(self, tenant: str, project: str | None, conversation_id: str) -> int:
        """Return the number of known turns in a conversation, in all projects if `project` is None."""
        ...

    async def only_tenant(self, conversation_id: str) -> str | None:
        """Return the only tenant with turns in a conversation, or None if there are none or several."""
        ...

    async def is_of_others(self, tenant: str, conversation_id: str, user_id: str) -> bool:
        """Return True if all known questions in a conversation were asked by people other than `user_id`.

        Returns False if a turn's asker is unknown, or if the conversation has no known turns.
        """
        ...


def turn_of(event: MessageEvent, logged: LogPosition = UNLOGGED) -> RegisteredTurn | None:
    """Return the facts in a message about its turn: the answer, or the person who asked.

    An agent's message without a turn id gets its message id as turn id. Returns None for a person's message without a
    turn id.
    """
    message = message_in(event)
    if message.sender_type == "agent" and message.agent_id is not None:
        answer = AgentAnswer(
            version_of(event, logged),
            message.message_id,
            message.agent_id,
            provenance_of(message),
            message.reply_to_message_id,
            thread_of(message.message_id, message.thread_id),
        )
        return RegisteredTurn(_key(message, message.turn_id or message.message_id), answer=answer)
    if message.turn_id is None:
        return None
    asker = Asker(message.occurred_at, message.sender_id, message.message_id)
    return RegisteredTurn(_key(message, message.turn_id), asker=asker)


def role_of(event: MessageEvent, logged: LogPosition = UNLOGGED) -> Role | None:
    """Return the user type of a message's author, or None if it is not given or the author is an agent."""
    message = message_in(event)
    if message.sender_type == "agent" or message.user_type is None:
        return None
    person = ProjectPerson(message.tenant, message.project, message.sender_id)
    return Role(person, message.user_type, version_of(event, logged))


def newest_roles(roles: Iterable[Role | None]) -> list[Role]:
    """Return the latest role of each person, sorted by person."""
    newest: dict[ProjectPerson, Role] = {}
    for role in roles:
        if role is not None and (role.person not in newest or role.version > newest[role.person].version):
            newest[role.person] = role
    return [newest[person] for person in sorted(newest)]


def collapse(turns: Iterable[RegisteredTurn]) -> list[RegisteredTurn]:
    """Merge turns with the same key, and sort them by key."""
    joined: dict[TurnKey, RegisteredTurn] = {}
    for turn in turns:
        held = joined.get(turn.key)
        joined[turn.key] = turn if held is None else held.joined(turn)
    return [joined[key] for key in sorted(joined)]


def _key(event: ChatMessageIngested, turn_id: str) -> TurnKey:
    return TurnKey(event.tenant, event.project, event.conversation_id, turn_id)
