"""The command `topics`, which lists, creates and checks the topics of the platform."""

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
    broker: Annotated[
        str | None, typer.Option(help="HOST:PORT,... of a Kafka, to check or create topics there.")
    ] = None,
    create: Annotated[bool, typer.Option("--create", help="Create the missing topics.")] = False,
    replication: Annotated[
        int | None, typer.Option(min=1, help="Replicas per partition; default: 3, or fewer if there are fewer brokers.")
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
    from standalone.operations.topic_table import print_topics, topic_rows

    if create and broker is None:
        raise typer.BadParameter("--create needs --broker: the brokers to create the topics on.")
    if partitions is not None and not create:
        raise typer.BadParameter("--partitions needs --create.")
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
        say(f"The topics on {broker} are configured as required.")
    if as_json:
        print_json(topic_rows())
    else:
        print_topics(Console())
