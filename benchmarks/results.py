"""Conversion of all runs' figures to the result file and to tables."""

from __future__ import annotations

import json
import os
import platform
import subprocess
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.measuring import Measured
from benchmarks.plan import CONFIGURATIONS, FOUR, KAFKA, Plan

RESULTS = Path(__file__).parent / "results" / "latest.json"


def figures(measured: Measured, starts: list[float]) -> dict[str, Any]:
    """Return the section `pipeline` of the result file, with medians over the rounds.

    The best configuration supplies `events_per_s`. The figures compared with it were measured on the same kind of log.
    """
    rates = {name: _middle(_rates(runs)) for name, runs in measured.pipeline.items()}
    best = max((c for c in CONFIGURATIONS if c.name in rates), key=lambda c: rates[c.name])
    plain = _middle(_rates(measured.plain[best.on_kafka]))
    return {
        "events_per_s": rates[best.name],
        "per_message_events_per_s": plain,
        "configuration": best.name,
        "times_per_message": round(rates[best.name] / plain, 1),
        "times_per_message_by_cpu": round(
            _cost(measured.plain[best.on_kafka]) / _cost(measured.pipeline[best.name]), 1
        ),
        "kafka_events_per_s": rates.get(KAFKA),
        "kafka_four_processes_events_per_s": rates.get(FOUR),
        "latency_ms": measured.latency,
        "startup_s": _middle(starts) if starts else None,
    }


def conditions(plan: Plan, source: str, seed: int, seconds: float, why_no_kafka: str) -> dict[str, Any]:
    cores = len(os.sched_getaffinity(0))
    head = subprocess.run(("git", "rev-parse", "--short", "HEAD"), capture_output=True, text=True, check=True)
    return {
        "commit": head.stdout.strip(),
        "cpu_count": os.cpu_count(),
        "cores_used": cores,
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "load_average_at_end": round(os.getloadavg()[0], 1),
        "source": source,
        "events": plan.events,
        "per_message_events": plan.plain_events,
        "rounds": plan.rounds,
        "seed": seed,
        "kafka": why_no_kafka or "on the same cores",
        "seconds": round(seconds),
        "date": f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}",
    }


def details(measured: Measured) -> dict[str, Any]:
    """Return the figures of every run, which show their variation."""
    return {
        "pipeline": dict(measured.pipeline),
        "per_message": {_log(on_kafka): runs for on_kafka, runs in measured.plain.items()},
    }


def write(result: Mapping[str, Any], path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(result, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def print_table(console: Console, measured: Measured, pipeline: Mapping[str, Any], starts: list[float]) -> None:
    table = Table(title="Chat events to committed read model", title_justify="left", pad_edge=False)
    table.add_column("")
    table.add_column("events/s", justify="right")
    table.add_column("range", justify="right", style="dim")
    table.add_column("processor ms an event", style="dim")
    for configuration in CONFIGURATIONS:
        runs = measured.pipeline.get(configuration.name)
        if runs:
            mark = " *" if configuration.name == pipeline["configuration"] else ""
            table.add_row(configuration.name + mark, *_row(runs))
    for on_kafka, runs in measured.plain.items():
        table.add_row(f"one record at a time, {_log(on_kafka)}", *_row(runs))
    console.print(table)
    console.print(
        f"* the best: {pipeline['times_per_message']} times one record at a time "
        f"({pipeline['times_per_message_by_cpu']} times by processor time)"
    )
    for late in pipeline["latency_ms"]:
        seen = f"{late['events']:,} events at {late['rate']:.0f}/s"
        cost = f"{late['cpu_ms']} ms of processor time per event"
        console.print(f"Visible after {late['p50']} ms (p50), {late['p99']} ms (p99): {seen}, {FOUR}, {cost}")
    if starts:
        each = ", ".join(f"{one:.2f}" for one in starts)
        console.print(f"`agent-feedback up` is ready after {pipeline['startup_s']} s (median of {each})")


def print_rows(console: Console, title: str, rows: Iterable[tuple[str, Mapping[str, Any]]]) -> None:
    """Print named figures as a table. All rows have the columns of the first one; only numbers are printed."""
    table = Table(title=title, title_justify="left", pad_edge=False)
    for number, (name, figures) in enumerate(rows):
        numbers = {column: value for column, value in figures.items() if isinstance(value, int | float)}
        if not number:
            for column in ("", *numbers):
                table.add_column(column, justify="right" if column else "left")
        table.add_row(name, *(f"{value:,}" for value in numbers.values()))
    console.print(table)


def _row(runs: list[dict[str, Any]]) -> tuple[str, str, str]:
    rates = _rates(runs)
    spent: dict[str, list[float]] = {}
    for one in runs:
        for who, cost in one["cpu_ms_per_event"].items():
            spent.setdefault(who, []).append(cost)
    costs = ", ".join(f"{who} {_middle(cost)}" for who, cost in spent.items() if _middle(cost))
    return f"{_middle(rates):,.0f}", f"{min(rates):,.0f}-{max(rates):,.0f}", costs


def _cost(runs: Iterable[Mapping[str, Any]]) -> float:
    """Return the CPU time per event in milliseconds, summed over all processes."""
    return _middle([sum(one["cpu_ms_per_event"].values()) for one in runs])


def _rates(runs: Iterable[Mapping[str, Any]]) -> list[float]:
    return [float(one["events_per_s"]) for one in runs]


def _middle(values: list[float]) -> float:
    return round(median(values), 3)


def _log(on_kafka: bool) -> str:
    return "Kafka" if on_kafka else "in-process broker"
