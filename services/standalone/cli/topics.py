"""The command that lists, creates and checks the topics."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console

from standalone.terminal import ANSWER_SECONDS, AsJson, print_json, say
from standalone.terminal import run as run_work


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command("topics")(topics)


def topics(
    broker: Annotated[str | None, typer.Option(help="HOST:PORT,... to create or check the topics on.")] = None,
    create: Annotated[bool, typer.Option("--create", help="Create the missing topics.")] = False,
    replication: Annotated[
        int | None, typer.Option(min=1, help="Replicas of each partition; default: 3, or all brokers if fewer.")
    ] = None,
    partitions: Annotated[
        int | None,
        typer.Option(min=6, help="With --create: partitions on a cluster without topics; default: 24."),
    ] = None,
    grow: Annotated[
        int | None,
        typer.Option(min=6, help="Move all topics to this many partitions; services and consumers must be stopped."),
    ] = None,
    as_asyncapi: Annotated[bool, typer.Option("--asyncapi", help="Print the AsyncAPI document of the topics.")] = False,
    as_json: AsJson = False,
) -> None:
    """List every topic with its meaning, writers and readers; with --broker, create and check them."""
    from standalone.operations.topic_table import print_topics, topic_rows

    if as_asyncapi:
        from contracts.asyncapi import asyncapi

        print_json(asyncapi())
        return
    if (create or grow) and broker is None:
        raise typer.BadParameter("--create and --grow need --broker: the brokers with the topics.")
    if grow is not None and (create or partitions or replication):
        raise typer.BadParameter("--grow stands alone: it changes topics that exist.")
    if grow is not None and broker is not None:
        _grow(broker, grow, as_json=as_json)
        return
    if broker is not None:
        from contracts.topics import CLUSTER_PARTITIONS
        from servicekit.log.cluster import cluster_at
        from servicekit.log.topics import ensure_topics
        from standalone.waiting import within

        async def ensure(servers: str) -> None:
            count = partitions or CLUSTER_PARTITIONS
            made = ensure_topics(cluster_at(servers), replication=replication, partitions=count, create=create, say=say)
            await within(ANSWER_SECONDS, made, servers)

        run_work(ensure(broker))
        say(f"The topics on {broker} are configured as required.")
    if as_json:
        print_json(topic_rows())
    else:
        print_topics(Console())


def _grow(broker: str, count: int, *, as_json: bool) -> None:
    from servicekit.log.cluster import cluster_at
    from standalone.operations.grow import grow

    grown = run_work(grow(cluster_at(broker), count))
    if as_json:
        print_json([one._asdict() for one in grown])
        return
    for one in grown:
        copied = "" if one.records is None else f", {one.records:,} records copied"
        say(f"{one.topic}: {one.after} partitions{copied}.")
    say(f"The topics on {broker} have {count} partitions. Start the services.")
