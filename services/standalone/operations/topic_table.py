"""Table of the topics for the terminal."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.text import Text

from contracts.topics import DAY_MS, DEAD_LETTER_PARTITIONS, FOREVER, KAFKA_PARTITIONS, TOPICS


def topic_rows() -> list[dict[str, Any]]:
    """Return one row per topic, in the order of the topic table. `partitions` is the default number in a Kafka."""
    return [
        {
            "topic": topic.name,
            "means": topic.meaning,
            "key": topic.key_name,
            "partitions": KAFKA_PARTITIONS,
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
    """Print three lines per topic, which fit into 80 columns, and the default number of partitions."""
    for topic in TOPICS:
        console.print(Text(topic.name, "bold"), Text(f"  {topic.meaning}"), soft_wrap=True, sep="")
        kept = "forever" if topic.retention_ms == FOREVER else f"{topic.retention_ms // DAY_MS} days"
        kept += ", compacted" if topic.compacted else ""
        console.print(f"    {topic.producer} -> {', '.join(topic.consumers) or 'any subscriber'}", soft_wrap=True)
        console.print(f"    key {topic.key_name}; kept {kept}", soft_wrap=True)
    console.print(f"Topics are created with {KAFKA_PARTITIONS} partitions by default (--partitions).", soft_wrap=True)
