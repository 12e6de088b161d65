"""Route that searches a service's journal of outcomes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import Annotated, Any, Final
from uuid import UUID

from fastapi import Query

from contracts.base import Id, Name
from contracts.instants import format_instant
from contracts.where import FOUND_LIMIT, FeedbackState, JournalRecord, JudgedMessage, WhereFound
from servicekit.log.journal import JournalReader
from servicekit.web.routes import Routes

ANSWERS: Final = {
    401: "No valid access token.",
    403: "The token does not reach that project, or lacks the scope read.",
    422: "The path names no project, or a parameter is no id.",
    503: "The database does not answer; see Retry-After.",
}


def _ids(description: str) -> Any:
    return Query(max_length=FOUND_LIMIT, description=description)


States = Callable[[str, str, Collection[str]], Awaitable[Sequence[FeedbackState]]]
"""Look-up of feedback records' states by tenant, project and feedback ids."""
Verdicts = Callable[[str, str, Collection[str]], Awaitable[Sequence[JudgedMessage]]]
"""Look-up of verdicts by tenant, project and message ids."""


async def nothing_found(_: str, __: str, ___: Collection[str]) -> Sequence[Any]:
    """Find nothing, in services without feedback records or verdicts."""
    return ()


class WhereLookup:
    """Lookup in a service's data for the command `agent-feedback where`.

    It finds the journal entries of log records, the states of the feedback records changed by these log records, and
    the verdicts on messages.
    """

    def __init__(
        self, reader: JournalReader, states: States = nothing_found, verdicts: Verdicts = nothing_found
    ) -> None:
        self._reader = reader
        self._states = states
        self._verdicts = verdicts

    async def __call__(
        self,
        tenant: str,
        project: str,
        events: Collection[str] = (),
        messages: Collection[str] = (),
        causes: Collection[str] = (),
        feedback_ids: Collection[str] = (),
    ) -> WhereFound:
        rows = await self._reader.find(tenant, project, events, messages, causes)
        changed = [str(row["feedback_id"]) for row in rows if row["feedback_id"] is not None]
        known = dict.fromkeys([*feedback_ids, *changed])
        states = await self._states(tenant, project, known)
        judged = await self._verdicts(tenant, project, messages)
        return WhereFound(records=[_record(row) for row in rows], feedbacks=list(states), judged=list(judged))


def where_router(path: str, tag: str, lookup: WhereLookup) -> Routes:
    """Return a router with the route that searches a service's journal."""
    router = Routes(tag)

    @router.at("GET", path, refuses=ANSWERS)
    async def find_records(
        tenant: Name,
        project: Name,
        event_id: Annotated[list[Id], _ids("Records with these event ids.")] = [],  # noqa: B006 # FastAPI copies it
        message_id: Annotated[list[Id], _ids("Records that are, or are about, these messages.")] = [],  # noqa: B006
        cause: Annotated[list[Id], _ids("Records that derive from the chat records at these coordinates.")] = [],  # noqa: B006
        feedback_id: Annotated[list[UUID], _ids("The state of these feedback records, if the service has any.")] = [],  # noqa: B006
    ) -> WhereFound:
        """Return the outcomes of log records, selected by event ids, message ids or causes."""
        return await lookup(tenant, project, event_id, message_id, cause, [str(one) for one in feedback_id])

    return router


def _record(row: Mapping[str, Any]) -> JournalRecord:
    feedback = row["feedback_id"]
    known = {name: row[name] for name in JournalRecord.model_fields if name not in ("feedback_id", "noted_at")}
    return JournalRecord(
        **known, feedback_id=None if feedback is None else str(feedback), noted_at=format_instant(row["noted_at"])
    )
