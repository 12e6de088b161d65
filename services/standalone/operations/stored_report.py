"""Report on the feedback in a database."""

from __future__ import annotations

from typing import Any

from feedback.store_choice import MIGRATIONS as FEEDBACK_MIGRATIONS
from feedback.store_postgres import PostgresStore
from reporting.parts import MIGRATIONS as REPORTING_MIGRATIONS
from reporting.queries.counts import totals
from servicekit.db.pools import open_pool
from standalone.one_process.summary import feedback_facts


async def report_from_database(url: str) -> dict[str, Any]:
    """Read `{"feedback": ..., "report": ...}` for all tenants from the database."""
    stores = await open_pool(url, "feedback", FEEDBACK_MIGRATIONS, size=1)
    views = await open_pool(url, "reporting", REPORTING_MIGRATIONS, size=1)
    try:
        return {"feedback": feedback_facts(await PostgresStore(stores).totals()), "report": await totals(views)}
    finally:
        await stores.close()
        await views.close()
