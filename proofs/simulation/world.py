"""State of one seed's history: log, groups, stores, processes, the clock, and the observed announcements."""

from __future__ import annotations

import asyncio
import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any
from uuid import UUID

from contracts.feedback import FeedbackCreated, FeedbackErased
from contracts.topics import FEEDBACK_CREATED, Consumer
from proofs.simulation.fake_log import Entry, Group, Log
from reporting.model.projection import (
    FeedbackRow,
    MessageKey,
    MessageRow,
    SessionRow,
)
from reporting.read_models.store_postgres import Applied, PostgresReadModels
from servicekit.log.outcome import Observation
from tests.support.bridge_memory import MemoryMessageStore as BridgeMemory
from tests.support.feedback_memory import MemoryStore as FeedbackMemory
from tests.support.inference_memory import MemoryConversationStore as InferenceMemory


class ReportingMemory(PostgresReadModels):
    """Store of the read models in memory."""

    def __init__(self) -> None:
        self.feedbacks: dict[UUID, FeedbackRow] = {}
        self.forgotten: dict[UUID, int] = {}
        self.messages: dict[MessageKey, MessageRow] = {}

    async def apply(
        self,
        messages: Sequence[MessageRow] = (),
        feedbacks: Sequence[FeedbackRow] = (),
        forgotten: Sequence[FeedbackErased] = (),
        sessions: Sequence[SessionRow] = (),
    ) -> Applied:
        ids = [row.feedback_id for row in feedbacks]
        before = {id_: self.feedbacks[id_].revision for id_ in ids if id_ in self.feedbacks}
        for row in feedbacks:
            stored = self.feedbacks.get(row.feedback_id)
            least = stored.revision if stored else self.forgotten.get(row.feedback_id, 0)
            if least < row.revision:
                self.feedbacks[row.feedback_id] = row
        written = set()
        for message in messages:
            previous = self.messages.get(message.key)
            merged = message if previous is None else previous.merged(message)
            if merged != previous:
                self.messages[message.key] = merged
                written.add(message.key)
        self._forget(forgotten)
        return Applied(before, written, {row.id for row in sessions})

    def _forget(self, forgotten: Sequence[FeedbackErased]) -> None:
        for feedback_id, revision in forgotten:
            self.forgotten[feedback_id] = max(revision, self.forgotten.get(feedback_id, 0))
            stored = self.feedbacks.get(feedback_id)
            if stored is not None and stored.revision <= self.forgotten[feedback_id]:
                del self.feedbacks[feedback_id]


EPOCH_SECONDS = 1_790_000_000
KINDS: tuple[Consumer, ...] = ("chat_bridge", "inference", "feedback", "reporting")
MOST_SECONDS = 3_600.0
"""Virtual seconds after which a history that is still active counts as stuck."""


class KnownFeedbacks(FeedbackMemory):
    """Store that remembers every revision that was ever stored."""

    def __init__(self) -> None:
        super().__init__()
        self.ever: set[tuple[UUID, int]] = set()

    async def save(self, saves: Any, *ledger: Any) -> Any:
        written = await super().save(saves, *ledger)
        revisions = ((save.record.feedback_id, save.record.revision) for save in saves)
        self.ever |= {(id_, revision) for id_, revision in revisions if id_ in written.ids}
        return written


@dataclass
class World:
    """State of one history. `unmended`: a process died that may have left a stale announcement."""

    seed: int
    rng: Random
    log: Log = field(init=False)
    groups: dict[Consumer, Group] = field(init=False)
    bridge: BridgeMemory = field(default_factory=BridgeMemory)
    inference: InferenceMemory = field(default_factory=InferenceMemory)
    feedback: KnownFeedbacks = field(default_factory=KnownFeedbacks)
    reporting: ReportingMemory = field(default_factory=ReportingMemory)
    down_until: dict[str, float] = field(default_factory=dict)
    outcomes: set[tuple[str, str, str]] = field(default_factory=set)
    injected: Counter[str] = field(default_factory=Counter)
    violations: list[str] = field(default_factory=list)
    unmended: bool = False
    steps: int = 0

    def __post_init__(self) -> None:
        self.log = Log(lambda: EPOCH_SECONDS * 1_000 + int(self.time() * 1_000))
        self.log.on_append = self._appended
        self.groups = {kind: Group(kind, self.log) for kind in KINDS}
        self._announced: dict[tuple[UUID, int], bytes] = {}
        self._trace = hashlib.blake2b(digest_size=8)

    def time(self) -> float:
        return asyncio.get_running_loop().time()

    def observe(self, seen: Observation) -> None:
        self.outcomes.add((seen.group, seen.topic, seen.cause))

    def note(self, *what: object) -> None:
        """Add to the history's fingerprint."""
        self._trace.update(repr(what).encode())

    @property
    def fingerprint(self) -> str:
        """Return a hash that is equal for two runs with exactly the same steps."""
        return self._trace.hexdigest()

    def _appended(self, entry: Entry) -> None:
        self.note(entry.topic, entry.partition, entry.offset, entry.value)
        if entry.topic != FEEDBACK_CREATED.name or entry.value is None:
            return
        event = FeedbackCreated.model_validate_json(entry.value)
        revision = (event.feedback_id, event.revision)
        if revision not in self.feedback.ever:
            self.violations.append(f"{event.feedback_id} was announced at revision {event.revision}, never stored")
        if self._announced.setdefault(revision, entry.value) != entry.value:
            self.violations.append(f"{event.feedback_id} was announced in two ways at revision {event.revision}")
