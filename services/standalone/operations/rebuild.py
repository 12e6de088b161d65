"""Rebuild of the reports from the feedback store, while the current reports are still served."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from uuid import UUID

from pydantic import ValidationError

from feedback.store import Store
from feedback.writer import announcement
from reporting.model.projection import feedback_row
from reporting.parts import SCHEMA
from reporting.read_models.generation import Generation, Switched, serving
from servicekit.db.pools import open_pool
from servicekit.errors import StartError, error_summary
from standalone.operations.log_access import database_answers

Say = Callable[[str], None]


@dataclass
class Rebuilt:
    """Result of a rebuild.

    Attributes:
        feedbacks: Number of records read.
        impossible: Reasons why records cannot be reported, by feedback id.
        switched: Number of removed rows and number of replaced rows.
    """

    feedbacks: int = 0
    impossible: dict[UUID, str] = field(default_factory=dict)
    switched: Switched = field(default_factory=lambda: Switched(0, 0))


async def rebuild_reporting(
    store: Store, database_url: str, say: Say, progress: Callable[[int], None] = lambda _: None
) -> Rebuilt:
    """Replace the feedback in the reports with that of the feedback store.

    It is safe to repeat this, and services may keep running.

    Args:
        progress: Called with the number of records in each page.

    Raises:
        StartError: The store is empty but the reports are not, or another rebuild is running.
    """
    await database_answers(database_url)
    pool = await open_pool(database_url, "reporting", SCHEMA, size=2, say=say)
    result = Rebuilt()
    try:
        if await serving(pool) and not await store.count():
            raise StartError("The feedback store is empty and the reports are not: give the right store with --store.")
        async with pool.acquire() as connection:
            generation = Generation(connection)
            await generation.begin()
            async for records in store.scan():
                rows = []
                for record in records:
                    try:
                        row = feedback_row(announcement(record))
                    except ValidationError as error:
                        faults = error.errors(include_url=False, include_context=False, include_input=False)
                        result.impossible[record.feedback_id] = error_summary(faults)
                        continue
                    result.feedbacks += 1
                    rows.append(row)
                await generation.add(rows)
                progress(len(records))
            result.switched = await generation.switch()
    finally:
        await pool.close()
    return result
