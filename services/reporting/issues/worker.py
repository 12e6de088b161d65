"""Worker that assigns rejections to issues and groups the turns of agents."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from typing import Final

import structlog

from detector.encoders.embedder import Embedder, WordLlamaEmbedder
from reporting.issues.grouping import MOST, Centre, centre_of, grouped, nearest, packed, turn_vectors, unpacked
from reporting.issues.store import AgentScope, Rejection, Turn, place, recount, rejections, writing
from reporting.issues.words import titles, words_of
from reporting.model.selection import Project
from reporting.sql import SQL
from reporting.sql.connection import Connection
from servicekit.clock import Clock

_AT_ONCE: Final = 200
"""Maximum number of changed turns per transaction."""
_MEMBERS: Final = 500
"""Maximum number of an issue's turns from which its centre and words are computed. The newest turns are used."""
_ENCODED_AGAIN: Final = 2_000
"""Maximum number of an agent's turns, the newest, that are encoded again after a change of the encoder."""
_PLACED_AT_ONCE: Final = 5_000
_COHERENCE: Final = 0.3
"""Minimum mean pairwise similarity of the turns of a new issue.

Groups with a lower coherence had no common topic in samples that were read.
"""
_TEXT: Final = 1_000
"""Maximum length of an encoded text in characters. Messages are cut at the end, and answers at the beginning."""
log = structlog.get_logger(part="reporting")


class IssueWorker:
    """Worker for the issues of all projects. Only one worker may run at a time.

    Args:
        connection: Connection that holds the issue lock. The worker uses no other, so it never waits for one.
    """

    def __init__(self, connection: Connection, clock: Clock, encoder: Embedder) -> None:
        self._connection = connection
        self._clock = clock
        self._encoder = encoder

    async def place_changed(self) -> int:
        """Assign a batch of changed rejections of one project to issues.

        Returns:
            The number of changes, or 0 if none are left.
        """
        rows = await self._connection.fetch(*SQL.changed_rejections(limit=_AT_ONCE))
        if not rows:
            return 0
        scope = Project(rows[0]["tenant"], rows[0]["project"])
        turns = {(row["conversation_id"], row["turn_id"]) for row in rows}
        rejected = await rejections(self._connection, scope, turns)
        readable = [rejection for rejection in rejected if rejection.question.strip() or rejection.complaint.strip()]
        vectors = await asyncio.to_thread(self._turn_rows, readable)
        gone = turns.difference(rejection.turn for rejection in readable)
        of = scope._asdict()
        async with writing(self._connection):
            left = await self._connection.fetch(*SQL.drop_issue_turns.bulk(sorted(gone), **of)) if gone else []
            touched = {row["issue_id"] for row in left if row["issue_id"] is not None}
            await self._connection.execute(*SQL.put_issue_turns.bulk(vectors, **of, encoder=self._encoder.name))
            by_agent: dict[str, list[Turn]] = defaultdict(list)
            for rejection in readable:
                by_agent[rejection.agent_id].append(rejection.turn)
            for agent_id, some in by_agent.items():
                touched |= await self._join(AgentScope(*scope, agent_id), some)
            await recount(self._connection, scope, touched, self._clock.now())
            await self._connection.execute(*SQL.delete_rejection_changes(ids=[row["id"] for row in rows]))
        return len(rows)

    def _turn_rows(self, rows: Sequence[Rejection]) -> list[tuple[object, ...]]:
        """Return the parameters of the statement `put_issue_turns`, one row per rejection."""
        embed = self._encoder.embed
        questions = embed([rejection.question[:_TEXT] for rejection in rows])
        answers = embed([rejection.answer[-_TEXT:] for rejection in rows])
        vectors = turn_vectors(questions, answers, embed([rejection.complaint[:_TEXT] for rejection in rows]))
        return [
            (
                *(rejection.conversation_id, rejection.turn_id, rejection.agent_id, rejection.agent_version),
                *(rejection.user_id, rejection.asker_id, rejection.by_person, rejection.occurred_at),
                *(rejection.asked_at, packed(vector), " ".join(words_of(rejection.question, rejection.complaint))),
            )
            for rejection, vector in zip(rows, vectors, strict=True)
        ]

    async def _join(self, agent: AgentScope, turns: Sequence[Turn]) -> set[int]:
        """Assign turns without an issue to the nearest issue, if they are similar enough.

        Returns:
            The issues of all the given turns.
        """
        of = agent._asdict()
        waiting = await self._connection.fetch(*SQL.waiting_among.bulk(sorted(turns), **agent.at._asdict()))
        issues = await self._connection.fetch(*SQL.centres_of_agent(**of, encoder=self._encoder.name))
        centres = [Centre(unpacked([row["centre"]])[0], row["radius"]) for row in issues]
        numbers = nearest(unpacked([row["vector"] for row in waiting]), centres)
        issue_of = {
            (row["conversation_id"], row["turn_id"]): issues[number]["id"]
            for row, number in zip(waiting, numbers, strict=True)
            if number is not None
        }
        await place(self._connection, agent.at, issue_of)
        joined = await self._connection.fetch(*SQL.issues_of_turns.bulk(sorted(turns), **agent.at._asdict()))
        return {row["issue_id"] for row in joined}

    async def group(self, agent: AgentScope) -> None:
        """Group the turns of an agent into issues, and update the centres, titles and counts of its issues."""
        of, name = agent._asdict(), self._encoder.name
        await self._encode_again(agent)
        rows = await self._connection.fetch(*SQL.open_turns(**of, encoder=name, limit=MOST))
        vectors = unpacked([row["vector"] for row in rows])
        issues_now = [row["issue_id"] for row in rows]
        groups = await asyncio.to_thread(grouped, vectors, issues_now, _least_coherence(self._encoder))
        keys = [(row["conversation_id"], row["turn_id"]) for row in rows]
        async with writing(self._connection):
            issue_of = {keys[row]: issue for row, issue in groups.joined.items()}
            for members in groups.new:
                issue = await self._connection.fetchval(*SQL.insert_issue(**of, encoder=name, now=self._clock.now()))
                issue_of |= dict.fromkeys((keys[row] for row in members), issue)
            await place(self._connection, agent.at, issue_of)
        issues = [row["id"] for row in await self._connection.fetch(*SQL.issues_of_agent(**of))]
        await self.describe(agent, issues)
        await self._join_waiting(agent)
        async with writing(self._connection):
            await recount(self._connection, agent.at, issues, self._clock.now())
            await self._connection.execute(*SQL.delete_empty_issues(**of))
            waiting = await self._connection.fetchval(*SQL.count_waiting_turns(**of))
            await self._connection.execute(*SQL.note_grouping(**of, now=self._clock.now(), left_waiting=waiting))
        log.info("issues_grouped", turns=len(rows), issues=len(issues), waiting=waiting)

    async def _encode_again(self, agent: AgentScope) -> None:
        """Encode again those of the agent's newest turns whose vectors come from another encoder."""
        of = agent._asdict()
        others = await self._connection.fetch(
            *SQL.turns_of_other_encoders(**of, encoder=self._encoder.name, limit=_ENCODED_AGAIN)
        )
        if others:
            turns = [(row["conversation_id"], row["turn_id"]) for row in others]
            await self._connection.execute(*SQL.mark_turns.bulk(turns, **agent.at._asdict()))
            while await self.place_changed():
                pass

    async def describe(self, agent: AgentScope, issues: Sequence[int]) -> None:
        """Compute the centres of the given issues and the titles of all issues of the agent."""
        of, name = agent.at._asdict(), self._encoder.name
        async with writing(self._connection):
            words_of_turns: dict[int, list[Sequence[str]]] = {}
            for row in await self._connection.fetch(*SQL.issues_of_agent(**agent._asdict())):
                issue = row["id"]
                rows = await self._connection.fetch(
                    *SQL.turns_of_issue(**of, issue_id=issue, encoder=name, limit=_MEMBERS)
                )
                words_of_turns[issue] = [turn["words"] for turn in rows]
                if issue not in issues or not rows:
                    continue
                vectors = unpacked([turn["vector"] for turn in rows])
                centre = centre_of(vectors)
                described = {"centre": packed(centre.vector), "radius": centre.min_similarity, "encoder": name}
                await self._connection.execute(*SQL.describe_issue(id=issue, **described))
                near = zip(rows, (vectors @ centre.vector).tolist(), strict=True)
                nearness = [(turn["conversation_id"], turn["turn_id"], value) for turn, value in near]
                await self._connection.execute(*SQL.note_nearness.bulk(nearness, **of))
            words_by_issue = titles(words_of_turns)
            named = [(issue, " ".join(words)) for issue, words in words_by_issue.items()]
            await self._connection.execute(*SQL.name_issues.bulk(named, **of))

    async def _join_waiting(self, agent: AgentScope) -> None:
        """Assign all turns without an issue to the nearest issue, if they are similar enough."""
        rows = await self._connection.fetch(*SQL.waiting_turns(**agent._asdict(), encoder=self._encoder.name))
        turns = [(row["conversation_id"], row["turn_id"]) for row in rows]
        for start in range(0, len(turns), _PLACED_AT_ONCE):
            async with writing(self._connection):
                await self._join(agent, turns[start : start + _PLACED_AT_ONCE])

    async def describe_changed(self) -> None:
        """Recompute the centres, words and counts of issues whose turns were changed by an erasure."""
        for row in await self._connection.fetch(*SQL.issues_without_centre(limit=_AT_ONCE)):
            agent = AgentScope(row["tenant"], row["project"], row["agent_id"])
            await self._encode_again(agent)
            await self.describe(agent, [row["id"]])
            async with writing(self._connection):
                await recount(self._connection, agent.at, [row["id"]], self._clock.now())


def _least_coherence(encoder: Embedder) -> float:
    """Return the minimum coherence of a new issue: 0 for word vectors, whose similarity is often low on one topic."""
    return 0.0 if isinstance(encoder, WordLlamaEmbedder) else _COHERENCE
