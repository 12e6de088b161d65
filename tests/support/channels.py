"""Channels with threads, several agents, and regenerated, edited, deleted and repeated messages, and a plain recount.

The recount reads the events as a person would, without the code of `contracts.exchange` and of reporting.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from contracts.chat import DELETED
from tests.support.reporting_events import feedback, message

PEOPLE, AGENTS = ("ann", "kai", "eva"), ("bot", "bot-2")


@dataclass
class Message:
    """A message with the texts of its versions by time."""

    name: str
    sender: str
    at: int
    turn: str | None
    thread: str | None
    reply_to: str | None
    texts: dict[int, str]

    @property
    def by_person(self) -> bool:
        return self.sender in PEOPLE

    @property
    def text(self) -> str:
        """The last text; empty if the message was deleted."""
        last = self.texts[max(self.texts)]
        return "" if last == DELETED else last

    def text_at(self, at: int) -> str | None:
        """Return the last text if the message had it at that time, or None."""
        then = [self.texts[time] for time in sorted(self.texts) if time <= at]
        return self.text or None if then and then[-1] == self.texts[max(self.texts)] and self._stays(at) else None

    def _stays(self, at: int) -> bool:
        return all(text == self.texts[max(self.texts)] for time, text in self.texts.items() if time > at)


@dataclass
class Judgement:
    name: str
    answer: Message
    turn: str
    by_turn: bool
    is_explicit: bool
    at: int
    reaction: str
    user: str


@dataclass
class Channel:
    name: str
    messages: list[Message] = field(default_factory=list)
    judgements: list[Judgement] = field(default_factory=list)

    @property
    def events(self) -> list[Any]:
        """All versions of all messages, and the feedback."""
        events: list[Any] = []
        for one in self.messages:
            for at, text in one.texts.items():
                events.append(
                    message(
                        one.name,
                        content=text,
                        sender=one.sender,
                        agent=None if one.by_person else one.sender,
                        conversation=self.name,
                        turn=one.turn,
                        at=at,
                        thread_id=one.thread,
                        reply_to_message_id=one.reply_to,
                    )
                )
        for given in self.judgements:
            events.append(
                feedback(
                    given.name,
                    kind="explicit" if given.is_explicit else "reaction",
                    conversation=self.name,
                    turn=given.turn,
                    agent_message_id=None if given.by_turn else given.answer.name,
                    agent=given.answer.sender,
                    user=given.user,
                    reaction=given.reaction,
                    at=given.at,
                )
            )
        return events

    def question_of(self, answer: Message) -> Message | None:
        """Return the question of an answer."""
        people = [one for one in self.messages if one.by_person and one.text]
        for one in people:
            if answer.reply_to == one.name and answer.reply_to != answer.thread:
                return one
        before = sorted((one for one in people if one.at < answer.at), key=lambda one: -one.at)
        for one in before:
            if (one.turn or one.name) == (answer.turn or answer.name):
                return one
        near = [
            one for one in before if one.thread == answer.thread or (one.thread is None and one.name == answer.thread)
        ]
        for one in near[:24]:
            if answer.text.startswith(f"@{one.sender} "):
                return one
        return near[0] if near else None

    def answer_of(self, given: Judgement) -> Message:
        """Return the answer that a judgement is about."""
        if not given.by_turn and (given.answer.text or not given.is_explicit):
            return given.answer
        turn = [one for one in self.messages if not one.by_person and (one.turn or one.name) == given.turn]
        return max(turn, key=lambda one: (bool(one.text), one.at))

    def is_uncertain(self, answer: Message, question: Message) -> bool:
        """Return True if a message that is unknown, or that a person emptied, may have been the question."""
        if answer.reply_to == question.name:
            return False
        agents = {one.name for one in self.messages if not one.by_person}
        if answer.reply_to not in (None, answer.thread, *agents):
            return True
        if (question.turn or question.name) == (answer.turn or answer.name):
            return False
        between = (one for one in self.messages if one.by_person and question.at <= one.at <= answer.at)
        return any(not one.text and one.thread == answer.thread for one in between)

    def example_of(self, given: Judgement) -> tuple[str, str] | None:
        """Return the question and the answer of a judgement's training example, or None if it has none."""
        answer = self.answer_of(given)
        question = self.question_of(answer)
        completion = answer.text_at(max(answer.at, given.at))
        if question is None or completion is None or self.is_uncertain(answer, question):
            return None
        request = question.text_at(max(question.at, answer.at))
        return None if request is None else (request, completion)


def channel_of(seed: int) -> Channel:
    """Return a channel with about 20 messages."""
    dice = Random(seed)
    channel = Channel(f"c{seed}")
    at = 0
    roots: list[str] = []
    for number in range(dice.randrange(8, 20)):
        at += dice.randrange(1, 5)
        name = f"m{number}"
        by_person = dice.random() < 0.5
        thread = dice.choice(roots) if roots and dice.random() < 0.4 else None
        people = [one.name for one in channel.messages if one.by_person]
        reply_to = None
        if not by_person and dice.random() < 0.4:
            reply_to = dice.choice([*people, thread, "gone"])
        turn = f"t{dice.randrange(6)}" if dice.random() < 0.4 else None
        text = f"word{seed}x{number}z"
        if not by_person and dice.random() < 0.2:
            text = f"@{dice.choice(PEOPLE)} {text}"
        sender = dice.choice(PEOPLE if by_person else AGENTS)
        texts = {at: text}
        for _ in range(dice.choice((0, 0, 0, 1, 2))):
            texts[at + dice.randrange(1, 40)] = dice.choice((text, text, f"{text} edited{number}", DELETED))
        channel.messages.append(Message(name, sender, at, turn, thread, reply_to, texts))
        if by_person and thread is None and dice.random() < 0.4:
            roots.append(name)
    _judge(channel, dice)
    return channel


def _judge(channel: Channel, dice: Random) -> None:
    number = 0
    for answer in channel.messages:
        if answer.by_person or dice.random() < 0.2:
            continue
        number += 1
        by_turn = dice.random() < 0.2
        is_explicit = by_turn or dice.random() < 0.3
        at = answer.at + dice.randrange(1, 30)
        reaction = dice.choice(("ok", "not_ok"))
        name = f"{channel.name}-f{number}"
        turn = answer.turn or answer.name
        channel.judgements.append(Judgement(name, answer, turn, by_turn, is_explicit, at, reaction, f"judge{number}"))


def shuffled(channels: Sequence[Channel], seed: int) -> list[list[Any]]:
    """Return the events of all channels in any order, in batches."""
    dice = Random(seed)
    events = [event for channel in channels for event in channel.events]
    dice.shuffle(events)
    batches = []
    while events:
        size = dice.randrange(1, 80)
        batches.append(events[:size])
        events = events[size:]
    return batches
