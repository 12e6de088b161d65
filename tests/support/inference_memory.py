"""In-memory message index with verdicts, for tests and simulations."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from contracts.detectors import DetectorVersion
from contracts.message_fields import MessageKey
from detector.model import NEIGHBOURHOOD, Verdict
from inference.llm_gate.answer import LlmAnswer
from inference.llm_gate.question import LlmQuestion
from inference.llm_gate.store import Answers, GateAnswers
from inference.model import ConversationKey, IndexedMessage, Scope, stamp_of
from inference.store import ConversationStore
from inference.turns.facts import Facts
from inference.turns.model import PreviousVerdict
from inference.turns.store import TurnIndex


@dataclass(frozen=True, slots=True)
class _StoredMessage:
    indexed: IndexedMessage
    versions: int = 1
    emitted_turn_id: str | None = None
    emitted_agent_id: str | None = None
    detector: DetectorVersion | None = None
    evaluation: int = 0
    is_announced: bool = False


class MemoryConversationStore(ConversationStore, TurnIndex):
    """Message index that overrides each method with one in memory, and turn index that only has verdicts."""

    def __init__(self) -> None:
        self._conversations: dict[ConversationKey, dict[MessageKey, _StoredMessage]] = {}

    async def index(self, messages: Collection[IndexedMessage]) -> set[MessageKey]:
        changed = set()
        for indexed in messages:
            conversation = self._conversations.setdefault(indexed.conversation, {})
            stored = conversation.get(indexed.key)
            if stored is None:
                conversation[indexed.key] = _StoredMessage(indexed)
            else:
                merged = stored.indexed.merged(indexed)
                if merged is stored.indexed:
                    continue
                news = replace(merged, version=stored.indexed.version) != stored.indexed
                conversation[indexed.key] = replace(stored, indexed=merged, versions=stored.versions + news)
            changed.add(indexed.key)
        return changed

    async def around(self, keys: Collection[MessageKey], after: int) -> Mapping[Scope, Sequence[IndexedMessage]]:
        scopes: dict[Scope, set[MessageKey]] = {}
        for key in keys:
            where = ConversationKey(*key[:3])
            if (stored := self._conversations.get(where, {}).get(key)) is not None:
                scopes.setdefault(Scope(where, stored.indexed.thread), set()).add(key)
                if any(other.indexed.thread == key.message_id for other in self._conversations[where].values()):
                    scopes.setdefault(Scope(where, key.message_id), set()).add(key)
        return {scope: self._around(scope, wanted, after) for scope, wanted in sorted(scopes.items())}

    async def find(self, key: MessageKey) -> IndexedMessage | None:
        stored = self._conversations.get(ConversationKey(*key[:3]), {}).get(key)
        return None if stored is None else stored.indexed

    async def before(self, scope: Scope, position: bytes, limit: int) -> Sequence[IndexedMessage]:
        rows = [stored.indexed for stored in self._rows(scope)]
        root = [one for one in rows if one.message.message_id == scope.thread]
        near = [one for one in rows if one.position < position and one not in root][-limit:]
        return sorted([*root, *near], key=_order)

    async def take(
        self, facts: Collection[Facts], judged: Collection[tuple[IndexedMessage, Verdict]], detector: DetectorVersion
    ) -> Mapping[MessageKey, PreviousVerdict]:
        previous = {}
        for message, verdict in judged:
            conversation, key = self._conversations.get(message.conversation, {}), message.key
            if (stored := conversation.get(key)) is None:
                continue
            before, stamp = stored, stamp_of(detector, message.evaluation)
            if stored.detector is None or stamp >= stamp_of(stored.detector, stored.evaluation):
                evaluation, is_announced = message.evaluation, verdict.emitted
                stored = replace(stored, detector=detector, evaluation=evaluation, is_announced=is_announced)
            has_sender = stored.indexed.message.sender_id == message.message.sender_id
            if verdict.emitted and verdict.target and has_sender:
                turn_id, agent_id = verdict.target.turn_id, verdict.target.agent_id
                stored = replace(stored, emitted_turn_id=turn_id, emitted_agent_id=agent_id)
            conversation[key] = stored
            emitted = stored.emitted_turn_id, stored.emitted_agent_id
            previous[key] = PreviousVerdict(before.detector, before.evaluation, before.is_announced, *emitted)
        return previous

    def _rows(self, scope: Scope) -> list[_StoredMessage]:
        rows = [
            stored
            for stored in self._conversations.get(scope.conversation, {}).values()
            if scope.thread in (stored.indexed.thread, stored.indexed.message.message_id)
        ]
        return sorted(rows, key=lambda stored: _order(stored.indexed))

    def _around(self, scope: Scope, keys: Collection[MessageKey], after: int) -> list[IndexedMessage]:
        rows = self._rows(scope)
        near = {n for n, stored in enumerate(rows) if stored.indexed.message.message_id == scope.thread}
        for number, stored in enumerate(rows):
            if stored.indexed.key in keys:
                near.update(range(max(0, number - NEIGHBOURHOOD), min(len(rows), number + after + 1)))
        evaluation = sum(stored.versions for stored in self._conversations[scope.conversation].values())
        return [replace(rows[n].indexed, evaluation=evaluation) for n in sorted(near)]


def _order(message: IndexedMessage) -> tuple[bytes, str]:
    """Return the sort key in the conversation. The id separates messages that were never in a log."""
    return message.position, message.message.message_id


class MemoryGateAnswers(GateAnswers):
    """Outcomes of questions in memory."""

    def __init__(self) -> None:
        self._answers: dict[bytes, LlmAnswer | None] = {}

    async def find(self, questions: Collection[LlmQuestion]) -> Answers:
        digests = {question.digest for question in questions}
        return {digest: answer for digest, answer in self._answers.items() if digest in digests}

    async def keep(self, answers: Mapping[LlmQuestion, LlmAnswer | None]) -> Answers:
        return {
            question.digest: self._answers.setdefault(question.digest, answer) for question, answer in answers.items()
        }
