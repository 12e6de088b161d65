"""The command `sizing`, which calculates the hardware that an installation needs."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from standalone.terminal import AsJson, print_json


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command("sizing")(sizing)


def sizing(
    events: Annotated[int, typer.Option(min=1, max=10**12, help="Chat events a day: messages, replies, reactions.")],
    peak: Annotated[
        float, typer.Option(min=1, max=1_000, help="Rate of the busiest second, as a multiple of the mean rate.")
    ] = 4.0,
    days: Annotated[int, typer.Option(min=1, max=36_500, help="Days that the services keep their rows.")] = 180,
    as_json: AsJson = False,
) -> None:
    """Calculate cores, memory, disk and partitions for a number of chat events per day; see docs/sizing.md.

    `agent-feedback sizing --events 5000000`
    """
    from standalone.operations.sizing import REPLICAS, size_for

    size = size_for(events, peak=peak, days=days)
    if as_json:
        print_json(size.as_json())
        return
    console = Console(highlight=False)
    console.print(f"{size.events_per_day:,} chat events a day, at most {size.peak_rate:,} a second, kept {days} days\n")
    table = Table("part", "processes", "cores", "memory", "disk")
    for name, one in size.services.items():
        table.add_row(name, str(one.processes), f"{one.cores:,.2f}", f"{one.memory_mib:,} MiB", "")
    table.add_row("PostgreSQL", "", f"{size.postgres_cores:,.2f}", "", f"{size.postgres_disk_gb:,.0f} GB")
    table.add_row(f"Kafka, {REPLICAS} replicas", "", f"{size.kafka_cores:,.2f}", "", f"{size.kafka_disk_gb:,.0f} GB")
    console.print(table)
    console.print(f"Partitions per topic: {size.partitions}")
    console.print(f"Indexes: {size.postgres_index_gb:,.0f} GB of PostgreSQL's disk")
    console.print(f"Write-ahead log: {size.wal_gb_per_day:,.1f} GB a day")
    console.print("\nShare of one large PostgreSQL server, the first limit first:")
    for limit in size.limits:
        console.print(f"  {limit.used:8.1%}  {limit.what}: {limit.needed:,.1f} of {limit.available:,.0f}")
