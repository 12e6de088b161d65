"""Reports for the terminal: the feedback, and the topics."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

import feedback.service
import reporting.service
from contracts.topics import DAY_MS, FOREVER, TOPICS
from feedback.store_postgres import PostgresStore
from reporting.queries.counts import totals
from servicekit.db.pools import open_pool
from servicekit.log.topics import DEAD_LETTER_PARTITIONS
from standalone.one_process.summary import FEEDBACK_TYPES, feedback_facts


async def report_from_database(url: str) -> dict[str, Any]:
    """Return `{"feedback": ..., "report": ...}` over the whole state and all tenants, read from the database."""
    stores = await open_pool(url, "feedback", Path(feedback.service.__file__).parent / "migrations", size=1)
    views = await open_pool(url, "reporting", Path(reporting.service.__file__).parent / "migrations", size=1)
    try:
        return {"feedback": feedback_facts(await PostgresStore(stores).totals()), "report": await totals(views)}
    finally:
        await stores.close()
        await views.close()


def print_report(console: Console, facts: dict[str, Any]) -> None:
    report, stored = facts["report"], facts["feedback"]
    table = Table(title="Verdicts on agents' turns", title_justify="left")
    for name in ("talks", "verdicts", "by people", "inferred", "reviewed", "ok", "not ok", "neutral", "share ok"):
        table.add_column(name, justify="right")
    total = report["total"]
    share = f"{report['ok'] / total:.0%}" if total else "-"
    numbers = [
        report[name] for name in ("conversations", "total", "user", "machine", "reviewer", "ok", "not_ok", "neutral")
    ]
    table.add_row(*(f"{number:,}" for number in numbers), share)
    console.print(table)
    kinds = ", ".join(f"{stored['by_type'][name]:,} {name}" for name in FEEDBACK_TYPES)
    console.print(f"{stored['stored']:,} records stored ({stored['cleared']:,} cleared): {kinds}.")


def topic_rows() -> list[dict[str, Any]]:
    """Return one row per topic, in the topic table's order."""
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
    """Print three lines per topic, readable at 80 columns."""
    for topic in TOPICS:
        console.print(Text(topic.name, "bold"), Text(f"  {topic.meaning}"), soft_wrap=True, sep="")
        kept = "forever" if topic.retention_ms == FOREVER else f"{topic.retention_ms // DAY_MS} days"
        kept += ", compacted" if topic.compacted else ""
        console.print(f"    {topic.producer} -> {', '.join(topic.consumers) or 'any subscriber'}", soft_wrap=True)
        console.print(f"    key {topic.key_name}; {topic.partitions} partitions; kept {kept}", soft_wrap=True)
