"""Size of an installation: the costs are the measured ones, and the formula is that of docs/sizing.md."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import median
from typing import Any

import pytest
from typer.testing import CliRunner

from standalone.cli.app import app
from standalone.operations.sizing import (
    CPU_MS,
    INDEX_BYTES,
    LEDGER_BYTES,
    LOG_BYTES,
    TABLE_BYTES,
    WAL_BYTES,
    size_for,
)

RESULTS = Path(__file__).parents[3] / "benchmarks" / "results"


def measured(name: str) -> Any:
    return json.loads((RESULTS / name).read_text("utf-8"))


def test_processor_times_are_the_medians_that_were_measured() -> None:
    runs = measured("latest.json")["runs"]["pipeline"]["four processes, Kafka"]
    assert {name: median(run["cpu_ms_per_event"][name] for run in runs) for name in CPU_MS} == CPU_MS


def test_bytes_are_those_that_were_measured() -> None:
    found = measured("stored_bytes.json")
    ledger = found["topics"].pop("feedback.created")
    assert found["postgres"] == TABLE_BYTES
    assert (found["indexes"], found["wal"]) == (INDEX_BYTES, WAL_BYTES)
    assert (sum(found["topics"].values()), ledger) == (LOG_BYTES, LEDGER_BYTES)


def test_a_small_installation_has_two_processes_of_each_service() -> None:
    size = size_for(86_400)
    assert (size.peak_rate, size.partitions) == (4.0, 6)
    assert {one.processes for one in size.services.values()} == {2}
    assert size.services["inference"].memory_mib == 2 * 201 * 2


def test_a_figure_follows_the_formula() -> None:
    size = size_for(864_000_000, peak=2, days=10)
    assert size.peak_rate == 20_000
    assert size.services["inference"].cores == round(20_000 * 0.152 / 1_000 / 0.6, 2) == 5.07
    assert (size.services["inference"].processes, size.partitions) == (6, 12)
    assert size.postgres_disk_gb == round(864_000_000 * 10 * (858 + 651 + 3_069 + 1_653) * 1.3 / 1e9, 1)
    assert size.wal_mb_per_second == round(20_000 * 9_344 / 1e6, 2)


def test_kafka_needs_space_for_a_week_of_topics_and_for_the_whole_ledger() -> None:
    size = size_for(864_000_000, peak=2, days=10)
    bytes_of_a_copy = 864_000_000 * (7 * 772 + 10 * 336)
    assert size.kafka_disk_gb == round(bytes_of_a_copy * 3 * 1.3 / 1e9, 1) == 29_531.2
    assert size.kafka_cores == round(20_000 * 0.052 / 1_000 / 0.6, 2) == 1.73


def test_postgres_needs_cores_at_the_peak_and_space_for_rows_indexes_and_log() -> None:
    size = size_for(864_000_000, peak=2, days=10)
    assert size.postgres_cores == round(20_000 * 0.155 / 1_000 / 0.6, 2) == 5.17
    assert size.postgres_index_gb == round(864_000_000 * 10 * 2_977 / 1e9, 1) == 25_721.3
    assert size.wal_gb_per_day == round(864_000_000 * 9_344 / 1e9, 1) == 8_073.2
    assert {one.what: (round(one.needed, 2), one.available) for one in size.limits} == {
        "disk in GB": (round(864_000_000 * 10 * 6_231 * 1.3 / 1e9, 2), 16_000),
        "write-ahead log in MB per second": (186.88, 100),
        "cores": (5.17, 32),
    }


def test_rows_are_kept_for_half_a_year_and_the_peak_is_four_times_the_mean_unless_stated() -> None:
    assert size_for(5_000_000) == size_for(5_000_000, peak=4, days=180)


@pytest.mark.parametrize(
    ("events", "processes", "partitions"),
    # A process of inference has room for 0.6 / 0.000152 events a second.
    [(86_400 * 7_894, 2, 6), (86_400 * 7_895, 3, 6), (86_400 * 11_842, 3, 6), (86_400 * 11_843, 4, 12)],
)
def test_there_are_partitions_for_twice_the_processes(events: int, processes: int, partitions: int) -> None:
    size = size_for(events, peak=1)
    assert (size.services["inference"].processes, size.partitions) == (processes, partitions)


def test_everything_but_the_least_processes_grows_in_proportion() -> None:
    one, ten = size_for(10_000_000), size_for(100_000_000)
    assert ten.postgres_disk_gb == pytest.approx(10 * one.postgres_disk_gb, rel=0.001)
    assert [limit.used for limit in ten.limits] == pytest.approx([10 * limit.used for limit in one.limits], rel=0.001)


def test_at_a_hundred_million_a_day_the_disk_breaks_first_and_the_cores_last() -> None:
    limits = size_for(100_000_000).limits
    assert limits[0].what == "disk in GB"
    assert [limit.what for limit in limits if limit.used > 1] == ["disk in GB"]
    assert limits[-1].what == "cores"


def test_the_command_prints_the_size() -> None:
    shown = CliRunner().invoke(app, ["sizing", "--events", "5000000"]).stdout
    assert "5,000,000 chat events a day" in shown
    assert "Partitions per topic: 6" in shown
    rows = [line.split("│")[1].strip() for line in shown.splitlines() if line.startswith("│")]
    assert rows == ["chat_bridge", "feedback", "inference", "reporting", "PostgreSQL", "Kafka, 3 replicas"]
    assert shown.splitlines()[-7:] == [
        "Indexes: 2,679 GB of PostgreSQL's disk",
        "Write-ahead log: 46.7 GB a day",
        "",
        "Share of one large PostgreSQL server, the first limit first:",
        "     45.6%  disk in GB: 7,290.3 of 16,000",
        "      2.2%  write-ahead log in MB per second: 2.2 of 100",
        "      0.2%  cores: 0.1 of 32",
    ]
    found = json.loads(CliRunner().invoke(app, ["sizing", "--events", "5000000", "--json"]).stdout)
    assert found["services"]["feedback"]["processes"] == 2
    assert found["limits"][0]["used"] == round(size_for(5_000_000).limits[0].used, 3)


def test_the_cells_of_the_table_are_the_figures() -> None:
    shown = CliRunner().invoke(app, ["sizing", "--events", "500000000", "--peak", "2", "--days", "10"]).stdout
    assert shown.startswith("500,000,000 chat events a day, at most 11,574.1 a second, kept 10 days\n")
    rows = [[cell.strip() for cell in line.split("│")[1:-1]] for line in shown.splitlines() if line.startswith("│")]
    size = size_for(500_000_000, peak=2, days=10)
    assert rows == [
        *(
            [name, str(one.processes), f"{one.cores:.2f}", f"{one.memory_mib:,} MiB", ""]
            for name, one in size.services.items()
        ),
        ["PostgreSQL", "", f"{size.postgres_cores:.2f}", "", f"{size.postgres_disk_gb:,.0f} GB"],
        ["Kafka, 3 replicas", "", f"{size.kafka_cores:.2f}", "", f"{size.kafka_disk_gb:,.0f} GB"],
    ]
    assert size.kafka_disk_gb == round(500_000_000 * (7 * 772 + 10 * 336) * 3 * 1.3 / 1e9, 1)
    assert size.postgres_index_gb == round(500_000_000 * 10 * 2_977 / 1e9, 1)
    assert size.wal_gb_per_day == round(500_000_000 * 9_344 / 1e9, 1)


@pytest.mark.parametrize(
    "wrong", [["--events", "0"], ["--events", "5", "--peak", "0.5"], ["--events", "5", "--days", "0"], []]
)
def test_a_wrong_value_is_a_usage_error(wrong: list[str]) -> None:
    assert CliRunner().invoke(app, ["sizing", *wrong]).exit_code == 2
