"""A month of sample conversations on planned topics, with judgements, reviews and session ratings.

The random numbers have a fixed seed, so two runs differ only in their times.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from random import Random
from typing import Any, Final, Literal

from contracts.base import Reaction
from contracts.instants import DAY, MINUTE
from contracts.topics import CHAT_MESSAGE, CHAT_REACTION
from standalone.sample.envelope import PROJECT, TENANT, Arrival, arrival, sample_id
from standalone.sample.month_script import MonthScript, Phase, PlannedTopic
from standalone.sample.script import Script

_SEED: Final = 29
_SECOND: Final = MINUTE // 60
_NEWEST: Final = 15 * MINUTE
_LIKES: Final = ("👍", "👍", "❤️", "🎉", "👏")
_REVIEWERS: Final = ("reviewer-ana", "reviewer-tom")


@dataclass(frozen=True, slots=True)
class PlannedAnswer:
    """An agent's answer in the sample's month.

    `is_bad` is True if reviewers reject it. `at` is in microseconds.
    """

    topic: str
    conversation_id: str
    turn_id: str
    message_id: str
    question_message_id: str
    thread_id: str | None
    asker: str
    at: int
    is_bad: bool
    correction: str
    provenance: dict[str, str]

    def judged(
        self, by: str, at: int, reaction: Reaction, *, review: bool = False, **said: Any
    ) -> tuple[tuple[str | int, ...], int, dict[str, Any]]:
        """Return the name, time and body of the event with which `by` judges the answer."""
        body = {
            "conversationId": self.conversation_id,
            "turnId": self.turn_id,
            "agentMessageId": self.message_id,
            "questionMessageId": self.question_message_id,
            "threadId": self.thread_id,
            "userId": by,
            "reaction": reaction,
            "reviews": self.turn_id if review else None,
            **self.provenance,
            **said,
        }
        return ("judgement", self.turn_id, by), at, body


@dataclass(frozen=True, slots=True)
class SessionEnding:
    """A rating at the end of a conversation. `at` is in microseconds."""

    conversation_id: str
    user_id: str
    label: Literal["positive", "negative", "skip"]
    at: int


Judged = tuple[tuple[str | int, ...], int, dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Month:
    """Events of the sample's month: chat events, HTTP judgements and session ratings."""

    chat: Sequence[Arrival]
    judgements: Sequence[Judged]
    sessions: Sequence[SessionEnding]
    answers: Sequence[PlannedAnswer]


class _Writer:
    """Generator of the conversations on one topic."""

    def __init__(self, plan: MonthScript, script: Script, topic: PlannedTopic, now: int) -> None:
        self._plan = plan
        self._script = script
        self._topic = topic
        self._now = now
        self._random = Random(f"{_SEED} {topic.name}")
        self._people = sorted(plan.people)
        self.chat: list[Arrival] = []
        self.judgements: list[Judged] = []
        self.sessions: list[SessionEnding] = []
        self.answers: list[PlannedAnswer] = []

    def write(self) -> None:
        number = 0
        for phase in self._topic.phases:
            for step in range(phase.answers):
                self._exchange(number, self._time_in(phase, step))
                number += 1

    def _time_in(self, phase: Phase, step: int) -> tuple[int, bool]:
        length = (phase.begin - phase.until) * DAY
        ago = phase.begin * DAY - (step + self._chance()) * length / phase.answers
        return self._now - max(_NEWEST, round(ago)), self._chance() < phase.rejected

    def _exchange(self, number: int, when: tuple[int, bool]) -> None:
        (at, is_bad), topic = when, self._topic
        asker, thing = self._one_of(self._people), self._one_of(topic.things)
        in_channel = topic.channel == "slack"
        name = f"{topic.name}-{number + 1}"
        conversation = f"{topic.bundle}-channel" if in_channel else name
        question, answer = sample_id("question", name), sample_id("answer", name)
        thread = question if in_channel else None
        said = {"conversationId": conversation, "turnId": sample_id("turn", name)}
        person = {"senderId": asker, "senderType": "human", "userType": self._plan.people[asker]}
        text = self._one_of(topic.questions)
        self._says(("question", name), at, question, {**said, **person}, text, thing)
        answered = at + self._seconds(8, 20)
        outcome = "REVISE" if is_bad and self._chance() < 0.4 else "APPROVE"
        provenance = self._provenance(name, at)
        facts = {
            **said,
            **({"threadId": thread} if thread else {}),
            "senderId": topic.agent,
            "senderType": "agent",
            "replyToMessageId": question,
            "strategy": topic.strategy,
            "validationOutcome": outcome,
            "qualityScore": round((0.55 if is_bad else 0.8) + 0.18 * self._chance(), 2),
            "attributes": {
                "channel": topic.channel,
                "language": topic.language,
                "arm": "b" if self._chance() < 0.5 else "a",
            },
            **provenance,
        }
        self._says(("answer", name), answered, answer, facts, self._one_of(topic.bad if is_bad else topic.good), thing)
        planned = PlannedAnswer(
            topic.name,
            conversation,
            said["turnId"],
            answer,
            question,
            thread,
            asker,
            answered,
            is_bad,
            self._one_of(topic.corrections),
            provenance,
        )
        self.answers.append(planned)
        later = {**person, "conversationId": conversation, **({"threadId": thread} if thread else {})}
        self._responds(planned, name, later, thing)
        if not in_channel and self._chance() < 0.25:
            label: Literal["positive", "negative", "skip"] = (
                "skip" if self._chance() < 0.2 else "negative" if is_bad else "positive"
            )
            self.sessions.append(SessionEnding(conversation, asker, label, answered + 5 * MINUTE))

    def _responds(self, answer: PlannedAnswer, name: str, later: dict[str, Any], thing: str) -> None:
        way, at, topic = self._chance(), answer.at + self._seconds(20, 90), self._topic
        writes, reacts, judges = (way < 0.65, 0.4 < way < 0.85, way >= 0.85)
        if not answer.is_bad:
            writes, reacts, judges = (way < 0.3, 0.22 < way < 0.62, 0.62 <= way < 0.74)
        if writes:
            texts = topic.complaints if answer.is_bad else self._plan.thanks[topic.language]
            body = {**later, "turnId": sample_id("turn", name, "response")}
            self._says(("response", name), at, sample_id("response", name), body, self._one_of(texts), thing)
        if reacts:
            emoji = "👎" if answer.is_bad else self._one_of(_LIKES)
            reaction = {"messageId": answer.message_id, "conversationId": answer.conversation_id, "emoji": emoji}
            by = {"userId": answer.asker, "userType": self._plan.people[answer.asker], "action": "added"}
            self.chat.append(arrival(CHAT_REACTION, ("reaction", name), at + MINUTE, {**reaction, **by}))
        if judges:
            said: dict[str, Any] = {}
            if answer.is_bad:
                said = {"text": self._filled(self._one_of(topic.complaints), thing), "tags": ("incorrect",)}
                said |= {"correction": answer.correction} if self._chance() < 0.7 else {}
            self.judgements.append(answer.judged(answer.asker, at, "not_ok" if answer.is_bad else "ok", **said))
        if writes and self._chance() < 0.12:
            corrected = {"correction": answer.correction} if answer.is_bad else {}
            at = min(at + 6 * 60 * MINUTE, self._now - MINUTE)
            verdict: Reaction = "not_ok" if answer.is_bad else "ok"
            self.judgements.append(answer.judged(self._one_of(_REVIEWERS), at, verdict, review=True, **corrected))

    def _says(self, event: tuple[str, str], at: int, id_: str, body: dict[str, Any], text: str, thing: str) -> None:
        said = {"messageId": id_, **body, "content": self._filled(text, thing)}
        self.chat.append(arrival(CHAT_MESSAGE, event, at, said))

    def _provenance(self, name: str, at: int) -> dict[str, str]:
        agent, days = self._topic.agent, (self._now - at) / DAY
        version = next(one.version for one in self._plan.versions[agent] if days >= one.until)
        return {
            "agentId": agent,
            "agentVersion": version,
            "model": self._script.agents[agent].model,
            "intent": self._topic.intent,
            "bundleId": self._topic.bundle,
            "trackId": self._topic.intent,
            "traceId": sha256(name.encode()).hexdigest()[:32],
        }

    @staticmethod
    def _filled(text: str, thing: str) -> str:
        return text.replace("{thing}", thing)

    def _chance(self) -> float:
        return self._random.random()

    def _one_of(self, choices: Sequence[str]) -> str:
        return choices[int(self._chance() * len(choices))]

    def _seconds(self, least: int, most: int) -> int:
        return round((least + (most - least) * self._chance()) * _SECOND)


def month(plan: MonthScript, script: Script, now: int) -> Month:
    """Generate the events of the month that ends at `now` (microseconds since 1970)."""
    writers = [_Writer(plan, script, topic, now) for topic in plan.topics]
    for one in writers:
        one.write()
    return Month(
        [event for one in writers for event in one.chat],
        [event for one in writers for event in one.judgements],
        [event for one in writers for event in one.sessions],
        [answer for one in writers for answer in one.answers],
    )


def explicit_bodies(judgements: Sequence[Judged]) -> Iterator[dict[str, Any]]:
    """Yield the bodies of the judgement events, without null values."""
    for name, at, body in judgements:
        event = arrival(CHAT_MESSAGE, name, at, body).body
        del event["topic"]
        yield {key: value for key, value in event.items() if value is not None}


__all__ = ["PROJECT", "TENANT", "Month", "PlannedAnswer", "explicit_bodies", "month"]
