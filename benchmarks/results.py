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

from benchmarks.measuring import CONFIGURATIONS, FOUR, KAFKA, Measured, Plan

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


def print_result(result: Mapping[str, Any]) -> None:
    """Print the result as tables."""
    console, pipeline, runs = Console(width=120), result["pipeline"], result["runs"]
    plain = {f"one record at a time, {log}": some for log, some in runs["per_message"].items()}
    rates = [(name, _spread(some) | _costs(some)) for name, some in (runs["pipeline"] | plain).items()]
    print_rows(console, "Chat events a second to the committed read model, and processor ms of an event", rates)
    console.print(
        f"{pipeline['configuration']}: {pipeline['times_per_message']} times one record at a time "
        f"({pipeline['times_per_message_by_cpu']} times by processor time)"
    )
    late = [(f"{one['rate']:.0f}/s, {FOUR}", one) for one in pipeline["latency_ms"]]
    print_rows(console, "Visible after ms", late)
    console.print(f"`agent-feedback up` is ready after {pipeline['startup_s']} s (median)")
    by_clients = [(f"{one['clients']} clients", one) for one in result["http"].get("by_clients", ())]
    print_rows(console, "Over HTTP", by_clients)
    print_rows(console, "Memory of all in one, MiB (PSS)", [("", result["memory"])])
    judged = [(f"{one['conversations']}, {one['sentence_encoder']}", one) for one in result["judging"]]
    print_rows(console, "Messages judged", judged)
    index = result["turn_index"]
    spreads = [(name, spread) for name, spread in index.items() if isinstance(spread, dict)]
    print_rows(console, f"An index of {index['turns']:,} turns, ms", spreads)
    for size, by_page in result["reports"].items():
        print_rows(console, f"Pages over {int(size):,} feedback records", by_page.items())


def print_rows(console: Console, title: str, rows: Iterable[tuple[str, Mapping[str, Any]]]) -> None:
    """Print named figures as a table. Only numbers are printed; a figure that a row lacks is left out."""
    numbers = {name: {key: value for key, value in row.items() if isinstance(value, int | float)} for name, row in rows}
    columns = list(dict.fromkeys(column for row in numbers.values() for column in row))
    table = Table(title=title, title_justify="left", pad_edge=False)
    for column in ("", *columns):
        table.add_column(column, justify="right" if column else "left")
    for name, row in numbers.items():
        table.add_row(name, *(f"{row[column]:,}" if column in row else "" for column in columns))
    console.print(table)


def _spread(runs: list[dict[str, Any]]) -> dict[str, float]:
    rates = _rates(runs)
    return {"median": _middle(rates), "least": min(rates), "most": max(rates)}


def _costs(runs: list[dict[str, Any]]) -> dict[str, float]:
    return {who: _middle([run["cpu_ms_per_event"][who] for run in runs]) for who in runs[0]["cpu_ms_per_event"]}


def _cost(runs: Iterable[Mapping[str, Any]]) -> float:
    """Return the CPU time per event in milliseconds, summed over all processes."""
    return _middle([sum(one["cpu_ms_per_event"].values()) for one in runs])


def _rates(runs: Iterable[Mapping[str, Any]]) -> list[float]:
    return [float(one["events_per_s"]) for one in runs]


def _middle(values: list[float]) -> float:
    return round(median(values), 3)


def _log(on_kafka: bool) -> str:
    return "Kafka" if on_kafka else "in-process broker"
