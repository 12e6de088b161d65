"""Reports for the terminal: what was said, and which topics there are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

import feedback.main
import reporting.main
from contracts.topics import TOPICS
from feedback.store_postgres import PostgresStore
from reporting.queries.counts import totals
from servicekit.database import open_pool
from servicekit.topics import DEAD_LETTER_PARTITIONS
from standalone.summary import FEEDBACK_TYPES, feedback_facts


async def report_from_database(url: str) -> dict[str, Any]:
    """`{"feedback": ..., "report": ...}` over the whole state and all tenants, straight from its database."""
    stores = await open_pool(url, "feedback", Path(feedback.main.__file__).parent / "migrations", size=1)
    views = await open_pool(url, "reporting", Path(reporting.main.__file__).parent / "migrations", size=1)
    try:
        return {"feedback": feedback_facts(await PostgresStore(stores).totals()), "report": await totals(views)}
    finally:
        await stores.close()
        await views.close()


def print_report(console: Console, facts: dict[str, Any]) -> None:
    report, stored = facts["report"], facts["feedback"]
    table = Table(title="Verdicts on agents' turns", title_justify="left")
    for name in ("talks", "verdicts", "by people", "inferred", "ok", "not ok", "neutral", "share ok"):
        table.add_column(name, justify="right")
    total = report["total"]
    share = f"{report['ok'] / total:.0%}" if total else "-"
    numbers = [report[name] for name in ("conversations", "total", "user", "machine", "ok", "not_ok", "neutral")]
    table.add_row(*(f"{number:,}" for number in numbers), share)
    console.print(table)
    kinds = ", ".join(f"{stored['by_type'][name]:,} {name}" for name in FEEDBACK_TYPES)
    console.print(f"{stored['stored']:,} records stored ({stored['cleared']:,} cleared): {kinds}.")


def topic_rows() -> list[dict[str, Any]]:
    """One row per topic, in the table's order."""
    return [
        {
            "topic": topic.name,
            "means": topic.meaning,
            "key": topic.key_name,
            "partitions": topic.partitions,
            "retention_ms": topic.retention_ms,
            "compacted": topic.compacted,
            "producer": topic.producer,
            "consumers": list(topic.consumers),
            "dead_letters": topic.dead_letters,
            "dead_letter_partitions": DEAD_LETTER_PARTITIONS,
        }
        for topic in TOPICS
    ]


def print_topics(console: Console) -> None:
    table = Table(title="Topics", title_justify="left")
    table.add_column("topic", no_wrap=True, overflow="fold")
    for name in ("means", "key", "written by", "read by"):
        table.add_column(name)
    for topic in TOPICS:
        readers = ", ".join(topic.consumers) or "whoever subscribes"
        table.add_row(topic.name, topic.meaning, topic.key_name, topic.producer, readers)
    console.print(table)
