"""PostgreSQL turn index. Each step of a batch takes one statement. The queries are in `search.py`."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Any, Final
from uuid import UUID

from contracts.detectors import DetectorVersion
from contracts.message_fields import MessageKey
from detector.model import Verdict
from inference.model import IndexedMessage
from inference.sql import SQL
from inference.turns.facts import Facts
from inference.turns.model import PreviousVerdict, UserReaction
from inference.turns.search import TurnSearch
from servicekit.db.database import Database

_NO_QUESTION: Final = (None,) * 5
_NO_REPLY: Final = (None,) * 11


class TurnIndex(TurnSearch):
    """Writes to the turn index (facts, verdicts and people's reactions), in addition to the inherited searches."""

    async def take(
        self, facts: Collection[Facts], judged: Collection[tuple[IndexedMessage, Verdict]], detector: DetectorVersion
    ) -> Mapping[MessageKey, PreviousVerdict]:
        """Merge facts into the turn index, apply verdicts to their turns, and commit.

        A verdict replaces the earlier verdict on the same message unless the earlier one has a higher stamp. Neutral
        verdicts and verdicts without a turn do not change the status of any turn.

        Args:
            facts: At most one item per turn.
            judged: The judged messages with their verdicts.
            detector: Version of the detector that judged them.

        Returns:
            The earlier verdicts on the judged messages.
        """
        if not facts and not judged:
            return {}
        vectors = self._vectors.stored(text for fact in facts for text in fact.texts)
        rows = [_facts_row(fact, vectors) for fact in sorted(facts, key=lambda fact: fact.key)]
        by_key = {message.key: (message, verdict) for message, verdict in judged}
        verdicts = [_verdict_row(*by_key[key], detector) for key in sorted(by_key)]
        previous = await Database.call(self._pool, SQL.take_turns, rows, **SQL.take_turns.columns("judged_", verdicts))
        return {MessageKey(*row[:4]): _previous_verdict(row) for row in previous}

    async def take_reactions(
        self, reactions: Collection[UserReaction], erased: Mapping[UUID, int] = MappingProxyType({})
    ) -> set[UUID]:
        """Store people's reactions, delete erased ones, and commit.

        Args:
            reactions: At most one reaction per feedback id.
            erased: The erased revisions by feedback id. Reactions up to these revisions are deleted.

        Returns:
            The feedback ids of the reactions that were written.
        """
        if not reactions and not erased:
            return set()
        rows = [_reaction_row(reaction) for reaction in sorted(reactions, key=lambda reaction: reaction.feedback_id)]
        ids, revisions = list(erased), list(erased.values())
        written = await Database.call(self._pool, SQL.take_reactions, rows, erased_id=ids, erased_revision=revisions)
        return {row[0] for row in written}


def _facts_row(facts: Facts, vectors: Mapping[str, bytes]) -> tuple[Any, ...]:
    question = (*facts.question, vectors.get(facts.question.text or "")) if facts.question else _NO_QUESTION
    reply = (*facts.reply, vectors.get(facts.reply.text)) if facts.reply else _NO_REPLY
    return (*facts.key, facts.at, *question, *reply)


def _previous_verdict(row: Any) -> PreviousVerdict:
    detector = None if row["release"] is None else DetectorVersion(row["release"], row["mode"], row["digest"])
    emitted = row["emitted_turn_id"], row["emitted_agent_id"]
    return PreviousVerdict(detector, row["evaluation"] or 0, bool(row["announced"]), *emitted)


def _verdict_row(judged: IndexedMessage, verdict: Verdict, detector: DetectorVersion) -> tuple[Any, ...]:
    """Return the database row for a verdict.

    Neutral verdicts are stored too, so that an older verdict cannot replace them.
    """
    where, message, target = judged.conversation, judged.message, verdict.target
    about = target.turn_id if target is not None and verdict.status != "neutral" else None
    return (
        *where,
        message.message_id,
        about,
        message.turn_id,
        verdict.status,
        verdict.confidence,
        verdict.correction_type,
        verdict.decided_by,
        verdict.emitted,
        message.at,
        *detector,
        judged.evaluation,
        message.sender_id,
        target.agent_id if target is not None else None,
    )


def _reaction_row(reaction: UserReaction) -> tuple[Any, ...]:
    *conversation, turn_id = reaction.turn
    person = (reaction.user_id, reaction.explicit, reaction.reviewer)
    content = (reaction.status, reaction.text, json.dumps(reaction.tags), reaction.correction)
    return (*conversation, reaction.feedback_id, turn_id, *person, *content, reaction.at, reaction.revision)
