"""Conversion of the scripted conversations to chat events in order of arrival. No I/O.

Ids depend only on names in the script, and times on `now`, so two runs differ only in their times.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from contracts.topics import CHAT_MESSAGE, CHAT_REACTION, CHAT_REPLY, Topic
from standalone.sample.envelope import PROJECT, TENANT, Arrival, arrival, envelope, sample_id
from standalone.sample.script import Script, ScriptedConversation, ScriptLine

__all__ = ["PROJECT", "TENANT", "arrivals", "events"]
MINUTE = 60_000_000
TO_READ = MINUTE // 3
"""Time in microseconds before a person starts to type. An agent takes half as long to answer."""
TO_TYPE = MINUTE // 120
"""Time in microseconds that a person takes to type a character."""


def events(script: Script, now: int) -> list[dict[str, Any]]:
    """Return the events of a script that ends at `now` (microseconds since 1970), in order of arrival."""
    return [one.body for one in sorted(arrivals(script, now), key=lambda one: one.at)]


def arrivals(script: Script, now: int) -> list[Arrival]:
    """Return all events of `script` with their times of arrival, in the order of the script."""
    found = [one for conversation in script.conversations for one in _exchange(conversation, script, now)]
    for stray in script.strays:
        at = now - _us(stray.minutes_ago)
        found.append(Arrival(at, {**envelope("stray", stray.name, at=at), **stray.event}))
    return found


def _exchange(conversation: ScriptedConversation, script: Script, now: int) -> Iterator[Arrival]:
    said_at = now - _us(conversation.minutes_ago)
    turn, answer = 0, None
    for number, line in enumerate(conversation.messages):
        by_agent = line.by in script.agents
        if number:
            said_at += _pause(line, by_agent)
        turn = turn if by_agent else number
        said = {
            "messageId": sample_id("message", conversation.name, number),
            "conversationId": conversation.name,
            "senderId": line.by,
            "senderType": "agent" if by_agent else "human",
            "content": line.text,
        }
        message = {**said, "turnId": sample_id("turn", conversation.name, turn), **_about(line, conversation, script)}
        if line.reply and answer is not None:
            message["replyToMessageId"] = answer
        name = (conversation.name, number)
        yield _event(CHAT_MESSAGE, ("message", *name), said_at, message, late=line.late)
        if line.reply and answer is not None:
            yield _event(CHAT_REPLY, ("reply", *name), said_at, {**said, "originalMessageId": answer})
        if line.edit is not None:
            at = said_at + _us(line.edit.after)
            yield _event(CHAT_MESSAGE, ("edit", *name), at, {**message, "content": line.edit.text})
        yield from _reactions(line, name, said["messageId"], said_at, script)
        if by_agent:
            answer = said["messageId"]


def _reactions(
    line: ScriptLine, name: tuple[str, int], message: str, said_at: int, script: Script
) -> Iterable[Arrival]:
    for index, reaction in enumerate(line.reactions):
        body = {
            "messageId": message,
            "conversationId": name[0],
            "userId": reaction.by,
            "userType": script.people[reaction.by],
            "emoji": reaction.emoji,
            "action": reaction.action,
        }
        yield _event(CHAT_REACTION, ("reaction", *name, index), said_at + _us(reaction.after), body)


def _about(line: ScriptLine, conversation: ScriptedConversation, script: Script) -> dict[str, Any]:
    """Return the provenance fields of an agent's message, or the user type of a person's message."""
    agent = script.agents.get(line.by)
    if agent is None:
        return {"userType": script.people[line.by]}
    facts = {
        "agentId": line.by,
        "agentVersion": conversation.agent_version or agent.agent_version,
        "model": agent.model,
        "intent": line.intent,
        "strategy": line.strategy,
        "validationOutcome": line.validation_outcome,
        "qualityScore": line.quality_score,
    }
    return {name: value for name, value in facts.items() if value is not None}


def _pause(line: ScriptLine, by_agent: bool) -> int:
    if line.after is not None:
        return _us(line.after)
    return TO_READ // 2 if by_agent else TO_READ + TO_TYPE * len(line.text)


def _event(topic: Topic, name: tuple[str | int, ...], at: int, body: dict[str, Any], late: float = 0) -> Arrival:
    return arrival(topic, name, at, body, _us(late))


def _us(minutes: float) -> int:
    return round(minutes * MINUTE)
