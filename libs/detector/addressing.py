"""Select the agent's answer that a person's message is addressed to.

The selection uses replies, threads and authors, not the meaning of the message. A thread (its root message and the
messages in it) is treated as a separate conversation. The channel is the conversation without its threads.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from detector.model import NEIGHBOURHOOD, Message, Neighbourhood, TargetRule

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
    """The answer that a message is addressed to.

    `answered` is None if there is none. `rule` is the rule that selected the answer. `own` is False if the answer is to
    another person and the message does not reply to it. `request` is the question behind the answer; None if it is
    unknown or `own` is False. `aside` is a message that another person wrote after the answer, and to which no agent
    has responded; None if there is none.
    """

    answered: Message | None
    request: Message | None = None
    rule: TargetRule = "own_latest"
    own: bool = True
    aside: Message | None = None


NOBODY: Final = Address(None)


def thread_of(message: Message) -> str | None:
    """Return the id of the message's thread, or None if the message is in the channel.

    The root message of a thread belongs to the channel.
    """
    return None if message.thread_id == message.message_id else message.thread_id


def in_scope(item: Neighbourhood) -> Neighbourhood:
    """Return the item with only the last `NEIGHBOURHOOD` messages of the judged message's scope.

    The scope of a message is its thread, or the channel if it is in no thread.
    """
    thread = thread_of(item.message)
    before = tuple(one for one in item.before if thread_of(one) == thread or one.message_id == thread)
    return Neighbourhood(before[-NEIGHBOURHOOD:], item.message)


def questions_of(before: Sequence[Message]) -> tuple[Message | None, ...]:
    """Return the question that each message of `before` answers, in order; None for messages of people.

    `before` contains only messages of one scope (`in_scope`).
    """
    return tuple(
        None if message.role == "human" else question_of(message, before[:place])
        for place, message in enumerate(before)
    )


def question_of(answer: Message, before: Sequence[Message]) -> Message | None:
    """Return the person's message that an agent's message answers, or None if no person wrote before.

    It is the first of these that exists: the message to which the answer replies, the latest message of the same turn,
    the latest message of the person whom the answer addresses by name, the latest message of any person. `before`
    contains only messages of one scope (`in_scope`).
    """
    latest = [one for one in reversed(before) if one.role == "human"]
    place_only = answer.thread_id is not None and (
        answer.reply_to == answer.thread_id or (bool(before) and before[0].message_id == answer.reply_to)
    )
    if answer.reply_to is not None and not place_only:
        for one in latest:
            if one.message_id == answer.reply_to:
                return one
    for one in latest:
        if one.turn_id == answer.turn_id:
            return one
    for one in latest:
        if _opens_with(answer.text, one.sender_id):
            return one
    return latest[0] if latest else None


def addressed(item: Neighbourhood, questions: Sequence[Message | None]) -> Address:
    """Return the answer that the message of `item` is addressed to. `item` is limited to one scope (`in_scope`).

    A reply determines the answer. Without a reply, it is the latest answer to the writer, or the latest answer to
    anybody (`own` is False) if the writer has none. Without a reply, there is no answer if the message addresses
    another person by name, or if another person's `aside` addresses the writer. `questions` has the question behind
    each message of `item.before`.
    """
    message, before = item.message, item.before
    if message.reply_to is None and _calls_a_person(item):
        return NOBODY
    answers = [place for place, one in enumerate(before) if one.role == "agent"]
    if message.reply_to is not None and not _is_root(message.reply_to, item):
        return _named(message, before, questions, answers)
    if not answers:
        return NOBODY
    own = [place for place in answers if _is_for(questions[place], message.sender_id)]
    place = own[-1] if own else answers[-1]
    rule: TargetRule = "own_latest" if thread_of(message) is None else "thread"
    aside = _aside(item, questions, place)
    if aside is not None and _opens_with(aside.text, message.sender_id, bare=True):
        return NOBODY
    return Address(before[place], questions[place] if own else None, rule, bool(own), aside)


def _named(
    message: Message, before: Sequence[Message], questions: Sequence[Message | None], answers: Sequence[int]
) -> Address:
    """Return the answer that a reply is addressed to.

    A reply to an agent's message is addressed to that message. A reply to the writer's own question is addressed to the
    latest answer to that question. Any other reply is addressed to NOBODY.
    """
    named = next((one for one in before if one.message_id == message.reply_to), None)
    if named is None or (named.role == "human" and named.sender_id != message.sender_id):
        return NOBODY
    if named.role == "agent":
        return Address(named, questions[before.index(named)], "named")
    place = next((place for place in reversed(answers) if questions[place] is named), None)
    return NOBODY if place is None else Address(before[place], named, "named")


def _is_for(question: Message | None, person: str) -> bool:
    return question is None or question.sender_id == person


def _is_root(name: str, item: Neighbourhood) -> bool:
    """Return True if `name` is the id of the thread's root.

    In a thread, a chat may send every message as a reply to the root, so such a reply does not select an answer.
    """
    thread = thread_of(item.message)
    if thread is None:
        return False
    return name == thread or (len(item.before) < NEIGHBOURHOOD and name in {one.message_id for one in item.before[:1]})


def _calls_a_person(item: Neighbourhood) -> bool:
    """Return True if the message addresses another participant by name: "@carl ...", "carl, are you coming?"."""
    people = {one.sender_id for one in item.before if one.role == "human"} - {item.message.sender_id}
    if not people:
        return False
    text = item.message.text.lstrip().lower()
    called = _CALLS.match(text)
    if called is None or called[1] in _OPENINGS:
        return any(_opens_with(text, name) for name in people)
    agents = {
        name.lower() for one in item.before if one.role == "agent" for name in (one.sender_id, one.agent_id or "")
    }
    return called[1] not in agents


def _opens_with(text: str, name: str, bare: bool = False) -> bool:
    """Return True if a text begins with `name`: "@ann ...", "<@ann> ...", "ann, ..." or, if `bare`, "ann ..."."""
    opened = text.lstrip()[: len(name) + 3].removeprefix("<")
    at = opened.startswith("@")
    opened = opened.removeprefix("@")
    after = opened[len(name) : len(name) + 1]
    return opened[: len(name)].lower() == name.lower() and after in (" ,:>" if at or bare else ",:") and after != ""


def _aside(item: Neighbourhood, questions: Sequence[Message | None], since: int) -> Message | None:
    """Return the latest message of another person after index `since` to which no agent has responded, or None.

    Replies to an agent's message are excluded, because they are addressed to the agent.
    """
    answered = {question.message_id for question in questions[since:] if question}
    agents = {one.message_id for one in item.before if one.role == "agent"} - {thread_of(item.message)}
    for one in reversed(item.before[since + 1 :]):
        to_others = one.role == "human" and one.sender_id != item.message.sender_id and one.reply_to not in agents
        if to_others and one.message_id not in answered:
            return one
    return None


@dataclass(frozen=True, slots=True)
class Exchange:
    """A judged message, the earlier messages of its scope, and the answer that it is addressed to.

    `candidates` are the agent messages that it may be about, oldest first. `requests` has the question behind each
    candidate.
    """

    message: Message
    before: tuple[Message, ...]
    address: Address
    candidates: tuple[Message, ...]
    requests: tuple[Message | None, ...]

    @classmethod
    def of(cls, item: Neighbourhood) -> Exchange:
        """Build the exchange from the last `NEIGHBOURHOOD` messages in the scope of the judged message."""
        item = in_scope(item)
        questions = questions_of(item.before)
        answers = [(one, asked) for one, asked in zip(item.before, questions, strict=True) if one.role == "agent"]
        return cls(
            item.message,
            item.before,
            addressed(item, questions),
            tuple(one for one, _ in answers),
            tuple(asked for _, asked in answers),
        )

    def about(self, message_id: str) -> Exchange:
        """Return a copy in which the message is judged against the candidate with the id `message_id`."""
        place = next(place for place, one in enumerate(self.candidates) if one.message_id == message_id)
        address = Address(self.candidates[place], self.requests[place], "older_named")
        return replace(self, address=address)

    def next_word(self) -> Exchange | None:
        """Return the exchange of the first message that the same person wrote after the answer.

        None if there is no answer, if that message is the judged one, or if it was addressed to another answer.
        """
        if self.answered is None:
            return None
        since = self.before.index(self.answered)
        for place in range(since + 1, len(self.before)):
            one = self.before[place]
            if one.role == "human" and one.sender_id == self.message.sender_id:
                earlier = Exchange.of(Neighbourhood(self.before[:place], one))
                return earlier if earlier.answered == self.answered else None
        return None

    @property
    def request(self) -> str:
        """Text of the question behind the answer; empty if it is unknown, or if the answer is to another person."""
        return self.address.request.text if self.address.request else ""

    @property
    def answered(self) -> Message | None:
        """Answer that the message is judged against, or None."""
        return self.address.answered

    @property
    def answer(self) -> str:
        """Text of the answer; empty if there is none."""
        return self.answered.text if self.answered else ""

    @property
    def aside(self) -> str | None:
        """Text of another person's unanswered message after the agent's answer; None if there is none."""
        return self.address.aside.text if self.address.aside else None

    @property
    def silence(self) -> int:
        """Microseconds from the answer to the message; 0 if there is no answer or the message has an earlier time."""
        return max(0, self.message.at - self.answered.at) if self.answered else 0
