"""Find the agent's answer that a person's message is addressed to.

Only replies, threads and authors are taken into account, not the content of the messages. Each thread (its root message
and the messages in it) is a conversation of its own. "The channel" means all messages outside of threads.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from contracts.exchange import ExchangeMessage, Position, addresses, has_text, question_of
from detector.model import NEIGHBOURHOOD, Message, Neighbourhood, TargetRule

Questions = Callable[[int], Message | None]

#: A name at the start, followed by a question to that person: "carl, are you coming?".
_CALLS: Final = re.compile(
    r"(\w{2,30}), (?:are|can|could|do|did|have|will|would|were|hast|bist|kannst|kommst"
    r"|tu|est-ce que tu|puedes|vienes)\b"
)
_NO_NAMES: Final = """
no nope yes yeah yep ok okay hey hi hello sorry well so wait please thanks actually hm hmm oh ah and but also then now
right sure great good nice really honestly seriously again nein ja doch bitte danke also hallo non oui merci bonjour
salut alors sí gracias hola bueno pues
"""
#: Opening words that are not the name of a person.
_OPENINGS: Final = frozenset(_NO_NAMES.split())


@dataclass(frozen=True, slots=True)
class Address:
    """The answer that a person's message is addressed to, and its context.

    Attributes:
        answered: The answer, or None if the message is not addressed to one.
        request: The question behind the answer. None if it is unknown or if `own` is False.
        rule: The rule that selected the answer.
        own: False if the answer was given to somebody else and the message is not a reply to it.
        aside: Another person's message that was sent after the answer and that no agent has responded to, if any.
    """

    answered: Message | None
    request: Message | None = None
    rule: TargetRule = "own_latest"
    own: bool = True
    aside: Message | None = None


NOBODY: Final = Address(None)


def thread_of(message: Message) -> str | None:
    """Return the id of the thread that a message belongs to, or None if it is in the channel.

    The root message of a thread belongs to the channel.
    """
    return None if message.thread_id == message.message_id else message.thread_id


def in_scope(item: Neighbourhood) -> Neighbourhood:
    """Restrict the context of a message to its own thread, or to the channel if it is not in a thread.

    Keeps at most the last `NEIGHBOURHOOD` messages.
    """
    thread = thread_of(item.message)
    before = tuple(message for message in item.before if thread_of(message) == thread or message.message_id == thread)
    return Neighbourhood(before[-NEIGHBOURHOOD:], item.message)


def questions_of(before: Sequence[Message]) -> Questions:
    """Return a function that returns the question behind a message of `before`, given its index.

    The question is the person's message that an agent's message answers (see `contracts.exchange`), or None for a
    person's message. Few questions are read, so each one is found when it is first read. The messages must all come
    from the same thread, or all from the channel (see `in_scope`).
    """
    people = [exchange_message(message, number) for number, message in enumerate(before) if message.role == "human"]

    questions: dict[int, Message | None] = {}

    def question(index: int) -> Message | None:
        if index not in questions:
            part = before[index].role == "agent" and question_of(exchange_message(before[index], index), people)
            questions[index] = before[part.position.log_time] if part else None
        return questions[index]

    return question


def exchange_message(message: Message, number: int) -> ExchangeMessage:
    """Return the parts of a message that decide which question an answer answers.

    Args:
        number: Index of the message among those of its thread or channel. It orders messages with the same time.
    """
    return ExchangeMessage(
        message.message_id,
        message.turn_id,
        thread_of(message) or "",
        message.sender_id,
        message.role == "human",
        has_text(message.text),
        Position(message.at, log_time=number),
        message.reply_to,
        message.text,
    )


def addressed(item: Neighbourhood, questions: Questions) -> Address:
    """Find the answer that a message is addressed to.

    A reply is addressed to the answer it refers to. Any other message is addressed to the latest answer to its author,
    or to the latest answer to anybody if the author has not received one (`own` is then False).

    A message that is not a reply is addressed to no answer at all if it addresses another person by name, or if another
    person has addressed its author by name since the answer.

    Args:
        item: The message and its context, restricted by `in_scope`.
        questions: The function that `questions_of(item.before)` returns.
    """
    message, before = item.message, item.before
    if message.reply_to is None and _calls_a_person(item):
        return NOBODY
    answers = [index for index, earlier in enumerate(before) if earlier.role == "agent"]
    if message.reply_to is not None and not _is_root(message.reply_to, item):
        return _named(message, before, questions, answers)
    if not answers:
        return NOBODY
    own = next((index for index in reversed(answers) if _is_for(questions(index), message.sender_id)), None)
    index = answers[-1] if own is None else own
    rule: TargetRule = "own_latest" if thread_of(message) is None else "thread"
    aside = _aside(item, questions, index)
    if aside is not None and addresses(aside.text, message.sender_id, bare=True):
        return NOBODY
    return Address(before[index], None if own is None else questions(index), rule, own is not None, aside)


def _named(message: Message, before: Sequence[Message], questions: Questions, answers: Sequence[int]) -> Address:
    """Find the answer that a reply is addressed to.

    A reply to an agent's message is addressed to that message. A reply to the author's own question is addressed to the
    latest answer to that question. A reply to a message outside of `before`, such as a platform's notice that a topic
    was opened, is addressed to the latest answer that replies to the same message, if this answer was for the author.
    All other replies are addressed to nobody.
    """
    named = next((earlier for earlier in before if earlier.message_id == message.reply_to), None)
    if named is None:
        alike = [index for index in answers if before[index].reply_to == message.reply_to]
        if not alike or not _is_for(questions(alike[-1]), message.sender_id):
            return NOBODY
        return Address(before[alike[-1]], questions(alike[-1]), "named")
    if named.role == "human" and named.sender_id != message.sender_id:
        return NOBODY
    if named.role == "agent":
        return Address(named, questions(before.index(named)), "named")
    index = next((index for index in reversed(answers) if questions(index) is named), None)
    return NOBODY if index is None else Address(before[index], named, "named")


def _is_for(question: Message | None, person: str) -> bool:
    return question is None or question.sender_id == person


def _is_root(name: str, item: Neighbourhood) -> bool:
    """Return True if `name` is the id of the root message of the item's thread.

    Some chats send every message of a thread as a reply to the root, so such a reply does not point to an answer.
    """
    thread = thread_of(item.message)
    if thread is None:
        return False
    return name == thread or (
        len(item.before) < NEIGHBOURHOOD and name in {message.message_id for message in item.before[:1]}
    )


def _calls_a_person(item: Neighbourhood) -> bool:
    """Return True if the message addresses another person by name, as in "@carl ..." or "carl, are you coming?"."""
    people = {message.sender_id for message in item.before if message.role == "human"} - {item.message.sender_id}
    if not people:
        return False
    text = item.message.text.lstrip().lower()
    called = _CALLS.match(text)
    if called is None or called[1] in _OPENINGS:
        return any(addresses(text, name) for name in people)
    agents = {
        name.lower()
        for message in item.before
        if message.role == "agent"
        for name in (message.sender_id, message.agent_id or "")
    }
    return called[1] not in agents


def _aside(item: Neighbourhood, questions: Questions, since: int) -> Message | None:
    """Return another person's latest message after index `since` that no agent has responded to, or None.

    Replies to an agent's message do not count, because they are addressed to the agent.
    """
    agents = {message.message_id for message in item.before if message.role == "agent"} - {thread_of(item.message)}
    for message in reversed(item.before[since + 1 :]):
        to_others = (
            message.role == "human" and message.sender_id != item.message.sender_id and message.reply_to not in agents
        )
        if to_others and all(questions(index) is not message for index in range(since, len(item.before))):
            return message
    return None


@dataclass(frozen=True, slots=True)
class Exchange:
    """A person's message to judge, together with its context.

    Attributes:
        message: The message to judge.
        before: The earlier messages of the same thread, or of the channel if the message is not in a thread.
        address: The answer that the message is addressed to.
        candidates: The agents' messages that the message may be about, oldest first.
        questions: Function that returns the question behind a message of `before`, given its index.
    """

    message: Message
    before: tuple[Message, ...]
    address: Address
    candidates: tuple[Message, ...]
    questions: Questions

    @classmethod
    def of(cls, item: Neighbourhood) -> Exchange:
        """Build the exchange for a message and the messages before it.

        At most the last `NEIGHBOURHOOD` messages of the same thread, or of the channel, are used.
        """
        item = in_scope(item)
        questions = questions_of(item.before)
        answers = tuple(message for message in item.before if message.role == "agent")
        return cls(item.message, item.before, addressed(item, questions), answers, questions)

    def about(self, message_id: str) -> Exchange:
        """Return a copy of the exchange that is addressed to the candidate with the given id."""
        index = next(index for index, candidate in enumerate(self.candidates) if candidate.message_id == message_id)
        address = Address(self.candidates[index], self.requests[index], "older_named")
        return replace(self, address=address)

    @property
    def requests(self) -> tuple[Message | None, ...]:
        """For each candidate answer, the message that it responds to, or None."""
        return tuple(self.questions(index) for index, message in enumerate(self.before) if message.role == "agent")

    @property
    def request(self) -> str:
        """Text of the question behind the answer, or an empty string if `Address.request` is None."""
        return self.address.request.text if self.address.request else ""

    @property
    def answered(self) -> Message | None:
        """The answer that the message is addressed to, or None."""
        return self.address.answered

    @property
    def answer(self) -> str:
        """Text of the answer, or an empty string if there is no answer."""
        return self.answered.text if self.answered else ""

    @property
    def aside(self) -> str | None:
        """Text of another person's message after the answer that no agent has responded to, or None."""
        return self.address.aside.text if self.address.aside else None

    @property
    def silence(self) -> int:
        """Microseconds between the answer and the message.

        The value is 0 if there is no answer, or if the message has an earlier timestamp than the answer.
        """
        return max(0, self.message.at - self.answered.at) if self.answered else 0
