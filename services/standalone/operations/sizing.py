"""Calculation of cores, memory, disk and partitions for a number of chat events per day. No I/O.

It uses measured costs per event. The formula is described in docs/sizing.md, and `tests/unit/standalone/test_sizing.py`
compares the costs with the measurements.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from math import ceil
from typing import Any, Final

DAY_SECONDS: Final = 86_400
CPU_MS: Final[Mapping[str, float]] = {
    "chat_bridge": 0.060,
    "feedback": 0.087,
    "inference": 0.152,
    "reporting": 0.045,
    "postgres": 0.155,
    "kafka": 0.052,
}
"""CPU time per chat event in milliseconds, with four processes and Kafka (benchmarks/results/latest.json)."""
SERVICES: Final = ("chat_bridge", "feedback", "inference", "reporting")
TABLE_BYTES: Final[Mapping[str, int]] = {"chat_bridge": 858, "feedback": 651, "inference": 3_069, "reporting": 1_653}
"""Bytes in PostgreSQL per chat event, including indexes (benchmarks/results/stored_bytes.json)."""
INDEX_BYTES: Final = 2_977
"""Bytes of indexes per chat event, which are part of `TABLE_BYTES`."""
WAL_BYTES: Final = 9_344
"""Bytes of PostgreSQL's write-ahead log per chat event, including full pages."""
LOG_BYTES: Final = 772
"""Bytes in the topics per chat event, not counting the ledger, compression and replicas."""
LEDGER_BYTES: Final = 336
"""Bytes in the ledger `feedback.created` per chat event. The ledger is compacted and never expires."""
PROCESS_MIB: Final[Mapping[str, int]] = {"chat_bridge": 78, "feedback": 84, "inference": 201, "reporting": 85}
"""Resident memory of an idle process in MiB (docs/performance.md)."""

UTILISATION: Final = 0.6
"""Planned utilisation of a core or process at the peak. The rest is a reserve for restarts, rebalances and backlogs."""
LEAST_PROCESSES: Final = 2
"""Minimum number of processes per service, so that one may fail."""
PARTITION_STEP: Final = 6
"""Step of the number of partitions, chosen so that two, three or six processes share them evenly."""
LOG_DAYS: Final = 7
REPLICAS: Final = 3
FREE_DISK: Final = 1.3
"""Factor that adds disk space for dead rows, vacuum and growth."""
BATCH_MEMORY: Final = 2
"""Memory of a busy process as a multiple of an idle one's."""
GB: Final = 1_000_000_000

CORES_OF_A_SERVER: Final = 32
DISK_OF_A_SERVER_GB: Final = 16_000
WAL_OF_A_SERVER_MB: Final = 100
"""Assumed limits of one large PostgreSQL server: cores, disk in GB, and write-ahead log in MB per second.

A replica and an archive must be able to keep up with the write-ahead log.
"""


@dataclass(frozen=True, slots=True)
class ServiceSize:
    """Number of processes of a service, with their total cores and memory."""

    processes: int
    cores: float
    memory_mib: int


@dataclass(frozen=True, slots=True)
class ServerLimit:
    """Limit of a PostgreSQL server: how much of a resource is needed and how much is available."""

    what: str
    needed: float
    available: float

    @property
    def used(self) -> float:
        return self.needed / self.available


@dataclass(frozen=True, slots=True)
class Size:
    """Size of an installation. Rates are in chat events per second, and disk space is in GB of 10^9 bytes."""

    events_per_day: int
    peak_rate: float
    services: Mapping[str, ServiceSize]
    partitions: int
    kafka_cores: float
    kafka_disk_gb: float
    postgres_cores: float
    postgres_disk_gb: float
    postgres_index_gb: float
    wal_gb_per_day: float
    wal_mb_per_second: float
    limits: tuple[ServerLimit, ...]
    """Limits of one PostgreSQL server, the most heavily used one first."""

    def as_json(self) -> dict[str, Any]:
        """Return the size as a dictionary for `--json`."""
        found = asdict(self)
        found["limits"] = [asdict(one) | {"used": round(one.used, 3)} for one in self.limits]
        return found


def size_for(events_per_day: int, *, peak: float = 4.0, days: int = 180) -> Size:
    """Calculate the size of an installation.

    Args:
        peak: Rate in the busiest second as a multiple of the mean rate.
        days: Number of days that the services keep their rows.
    """
    rate = events_per_day / DAY_SECONDS * peak
    cores = {name: rate * cost / 1_000 / UTILISATION for name, cost in CPU_MS.items()}
    services = {name: _service(name, cores[name]) for name in SERVICES}
    kept = events_per_day * days
    disk = kept * sum(TABLE_BYTES.values()) * FREE_DISK / GB
    index = kept * INDEX_BYTES / GB
    log = events_per_day * LOG_DAYS * LOG_BYTES + kept * LEDGER_BYTES
    wal = rate * WAL_BYTES / 1_000_000
    limits = (
        ServerLimit("disk in GB", disk, DISK_OF_A_SERVER_GB),
        ServerLimit("write-ahead log in MB per second", wal, WAL_OF_A_SERVER_MB),
        ServerLimit("cores", cores["postgres"], CORES_OF_A_SERVER),
    )
    return Size(
        events_per_day=events_per_day,
        peak_rate=round(rate, 1),
        services=services,
        partitions=_partitions(max(one.processes for one in services.values())),
        kafka_cores=round(cores["kafka"], 2),
        kafka_disk_gb=round(log * REPLICAS * FREE_DISK / GB, 1),
        postgres_cores=round(cores["postgres"], 2),
        postgres_disk_gb=round(disk, 1),
        postgres_index_gb=round(index, 1),
        wal_gb_per_day=round(events_per_day * WAL_BYTES / GB, 1),
        wal_mb_per_second=round(wal, 2),
        limits=tuple(sorted(limits, key=lambda one: -one.used)),
    )


def _service(name: str, cores: float) -> ServiceSize:
    processes = max(LEAST_PROCESSES, ceil(cores))
    return ServiceSize(processes, round(cores, 2), processes * PROCESS_MIB[name] * BATCH_MEMORY)


def _partitions(processes: int) -> int:
    """Return a number of partitions per topic that is sufficient for twice the given number of processes."""
    return ceil(max(2 * processes, PARTITION_STEP) / PARTITION_STEP) * PARTITION_STEP
