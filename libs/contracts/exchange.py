"""Rules that find the question behind an agent's message, and the answer of a turn. No I/O.

Every index of messages reads the candidates that `question_of` needs and calls it, so that all of them pair a question
and an answer alike. Only reporting has the rule in SQL (`sql/exchanges.sql`); a test compares it with this one.
"""

from __future__ import annotations

from collections.abc import Iterable
from heapq import nlargest
from typing import Final, NamedTuple

from contracts.chat import DELETED

REACH: Final = 24
"""Maximum number of people's messages of a thread, or of the channel, among which a name in the answer is looked up."""


class Position(NamedTuple):
    """Sort key for the messages of a conversation.

    Attributes:
        at: Time of the message's earliest version in microseconds.
        sequence: The producer's sequence number of that version, or -1 if it has none.
        log_time: Time at which the version first appeared in the log, in microseconds.
        log_offset: Offset of the version's record.
    """

    at: int
    sequence: int = -1
    log_time: int = 0
    log_offset: int = 0


class ExchangeMessage(NamedTuple):
    """The parts of a message that decide which question belongs to which answer.

    Attributes:
        turn_id: The message's turn. A message without a turn has its own id here.
        thread: The thread, or an empty string for a message in the channel. A thread's root is in the channel.
        is_person: False for an agent's message.
        has_text: False if the message is empty or deleted.
        text: Text of an agent's message. May be empty for a person's message.
    """

    message_id: str
    turn_id: str
    thread: str
    sender_id: str
    is_person: bool
    has_text: bool
    position: Position
    reply_to: str | None = None
    text: str = ""


def has_text(content: str | None) -> bool:
    """Return True if a message's content is neither empty nor deleted."""
    return content is not None and content != DELETED and bool(content.strip())


def thread_of(message_id: str, thread_id: str | None) -> str | None:
    """Return the id of the thread that a message belongs to, or None if it is in the channel.

    The root message of a thread belongs to the channel.
    """
    return None if thread_id == message_id else thread_id


def question_of(answer: ExchangeMessage, messages: Iterable[ExchangeMessage]) -> ExchangeMessage | None:
    """Return the person's message that an agent's message answers.

    The first of these that exists is the question:

    - the person's message that the answer replies to. A reply to the root of the answer's thread points to no message,
      because some chats send every message of a thread as a reply to its root.
    - the latest message by a person in the answer's turn
    - the latest message by the person whom the answer addresses by name, in the answer's thread or, outside of threads,
      in the channel
    - the latest message by any person in the same thread or channel

    Agents' messages, empty and deleted ones are never questions. "Latest" means the last one before the answer. If
    messages have the answer's time, and no sequence numbers settle the order, one of them is the question: the last one
    that was logged before the answer, or else the first one after it.

    Args:
        messages: Messages of the conversation, in any order.
    """
    people = [message for message in messages if message.is_person and message.has_text]
    if answer.reply_to is not None and answer.reply_to != answer.thread:
        for message in people:
            if message.message_id == answer.reply_to:
                return message
    earlier = [message for message in people if _may_precede(message.position, answer.position)]

    def nearness(message: ExchangeMessage) -> tuple[int, bool, tuple[int, ...], str]:
        return (*_nearness(message.position, answer.position), message.message_id)

    turn = [message for message in earlier if message.turn_id == answer.turn_id]
    if turn:
        return max(turn, key=nearness)
    near = [message for message in earlier if answer.thread in (message.thread, message.message_id)]
    if any(addresses(answer.text, message.sender_id) for message in near):
        for message in nlargest(REACH, near, key=nearness):
            if addresses(answer.text, message.sender_id):
                return message
    return max(near, key=nearness, default=None)


def answer_of_turn(messages: Iterable[ExchangeMessage]) -> ExchangeMessage | None:
    """Return the answer that feedback on a turn belongs to: the agent's last message in it.

    An empty or deleted message counts only if the turn has no other.

    Args:
        messages: Messages of the turn, in any order.
    """
    answers = (message for message in messages if not message.is_person)
    return max(answers, key=lambda message: (message.has_text, message.position, message.message_id), default=None)


def addresses(text: str, name: str, bare: bool = False) -> bool:
    """Return True if a text begins by addressing `name`, as in "@ann ...", "<@ann> ..." or "ann, ...".

    With `bare`, the name alone without any punctuation ("ann ...") is enough.
    """
    opening = text.lstrip()[: len(name) + 3].removeprefix("<")
    has_at = opening.startswith("@")
    opening = opening.removeprefix("@")
    after = opening[len(name) : len(name) + 1]
    marks = " ,:>" if has_at or bare else ",:"
    return bool(name) and opening[: len(name)].lower() == name.lower() and after != "" and after in marks


def _may_precede(question: Position, answer: Position) -> bool:
    """Return False if the question's position is certainly after the answer's."""
    if question.at != answer.at:
        return question.at < answer.at
    return question.sequence < answer.sequence or min(question.sequence, answer.sequence) < 0


def _nearness(question: Position, answer: Position) -> tuple[int, bool, tuple[int, ...]]:
    """Return the sort key of messages that may precede an answer, the nearest last."""
    order: tuple[int, ...] = question[1:]
    precedes = question.at < answer.at or order < answer[1:]
    return question.at, precedes, order if precedes else tuple(-part for part in order)
