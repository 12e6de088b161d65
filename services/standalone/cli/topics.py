"""The command `topics`, which lists, creates and checks the topics of the platform."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from standalone.terminal import ANSWER_SECONDS, AsJson, print_json, say
from standalone.terminal import run as run_work


def topics(
    broker: Annotated[
        str | None, typer.Option(help="HOST:PORT,... of a Kafka cluster, to check or create topics there.")
    ] = None,
    create: Annotated[bool, typer.Option("--create", help="Create the missing topics.")] = False,
    replication: Annotated[
        int | None, typer.Option(min=1, help="With --create: replicas per partition; default: 3, or one per broker.")
    ] = None,
    partitions: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=10_000,
            help="With --create: partitions of each topic; existing topics with fewer get more. Default: 24 for new "
            "topics, or as many as existing ones.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List every topic with its meaning, writers and readers; with --broker, create and check them."""
    if create and broker is None:
        raise typer.BadParameter("--create needs --broker: the brokers to create the topics on.")
    if partitions is not None and not create:
        raise typer.BadParameter("--partitions needs --create.")
    if replication is not None and not create:
        raise typer.BadParameter("--replication needs --create.")
    if broker is not None:
        from contracts.topics import KAFKA_PARTITIONS
        from servicekit.log.cluster import cluster_at
        from servicekit.log.topics import ensure_topics
        from standalone.waiting import within

        async def ensure(servers: str) -> None:
            work = ensure_topics(
                cluster_at(servers),
                replication=replication,
                partitions=partitions or KAFKA_PARTITIONS,
                extend=partitions is not None,
                create=create,
                say=say,
            )
            await within(ANSWER_SECONDS, work, servers)

        run_work(ensure(broker))
        say(f"All topics exist on {broker}, and Kafka keeps the last record of each key where it must.")
    if as_json:
        print_json(topic_rows())
    else:
        print_topics(Console())


def topic_rows() -> list[dict[str, Any]]:
    """Return one row per topic, in the order of the topic table. `partitions` is the default in a Kafka cluster."""
    from contracts.topics import DEAD_LETTER_PARTITIONS, KAFKA_PARTITIONS, TOPICS

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
    from contracts.topics import DAY_MS, FOREVER, KAFKA_PARTITIONS, TOPICS

    for topic in TOPICS:
        console.print(Text(topic.name, "bold"), Text(f"  {topic.meaning}"), soft_wrap=True, sep="")
        kept = "forever" if topic.retention_ms == FOREVER else f"{topic.retention_ms // DAY_MS} days"
        kept += ", compacted" if topic.compacted else ""
        console.print(f"    {topic.producer} -> {', '.join(topic.consumers) or 'any subscriber'}", soft_wrap=True)
        console.print(f"    key {topic.key_name}; kept {kept}", soft_wrap=True)
    console.print(f"Topics are created with {KAFKA_PARTITIONS} partitions by default (--partitions).", soft_wrap=True)
