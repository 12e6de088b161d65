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


def print_judging(console: Console, judged: Iterable[Mapping[str, Any]]) -> None:
    """Print the figures of `judging`."""
    table = Table(title="Messages judged per CPU second", title_justify="left", pad_edge=False)
    for name in ("conversations", "sentence encoder", "messages", "a second", "alone p50 ms", "p99 ms"):
        table.add_column(name, justify="left" if name in ("conversations", "sentence encoder") else "right")
    for one in judged:
        rate = f"{one['messages_per_cpu_second']:,}"
        alone = (f"{one['alone_ms_p50']}", f"{one['alone_ms_p99']}")
        table.add_row(one["conversations"], one["sentence_encoder"], f"{one['messages']:,}", rate, *alone)
    console.print(table)


def print_looks(console: Console, looked: Mapping[str, Any]) -> None:
    """Print the figures of `turn_index`, in milliseconds."""
    table = Table(title=f"An index of {looked['turns']:,} turns, ms", title_justify="left", pad_edge=False)
    for name in ("", "p50", "p99", "count"):
        table.add_column(name, justify="right" if name else "left")
    for name, spread in looked.items():
        if isinstance(spread, Mapping):
            table.add_row(name.removesuffix("_ms"), *(f"{spread[part]:,}" for part in ("p50", "p99", "count")))
    console.print(table)


def print_pages(console: Console, by_size: Mapping[str, Any]) -> None:
    """Print the figures of `report_pages`, in milliseconds: the same reads over few feedbacks and over many."""
    table = Table(title="Reading reports, ms", title_justify="left", pad_edge=False)
    table.add_column("")
    for size in by_size:
        for kind in ("best", "p99"):
            table.add_column(f"{int(size):,}: {kind}", justify="right")
    for name in next(iter(by_size.values()))["pages"]:
        pages = [measured["pages"][name] for measured in by_size.values()]
        table.add_row(name, *(f"{page[kind]:,}" for page in pages for kind in ("best_ms", "p99_ms")))
    console.print(table)


def print_http(console: Console, rates: Mapping[str, Any]) -> None:
    """Print the figures of `http_rates`."""
    table = Table(title="Over HTTP", title_justify="left", pad_edge=False)
    for name in ("", "a second", "p50 ms", "p99 ms", "CPU us", "of a bare route"):
        table.add_column(name, justify="right" if name else "left")
    for one in rates.get("by_clients", ()):
        spread = (
            f"{one['explicit_p50_ms']}",
            f"{one['explicit_p99_ms']}",
            f"{one['explicit_cpu_us']:.0f}",
            f"{one['of_bare']}",
        )
        table.add_row(f"judgements, {one['clients']} clients", f"{one['explicit_per_s']:,.0f}", *spread)
    if rates:
        table.add_row(f"events, {rates['ingest_lines']} a body, one client", f"{rates['ingest_events_per_s']:,.0f}")
        console.print(table)


def print_memory(console: Console, shares: Mapping[str, float]) -> None:
    """Print the figures of `memory`, in MiB."""
    parts = ", ".join(f"{part} {size:,.0f}" for part, size in shares.items() if part != "all" and size)
    console.print(f"All in one: {shares['all']:,.0f} MiB (PSS: {parts})")


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
