"""The faults of one service with their frequencies, and the faults that test each guarantee."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Literal

from proofs.chaos.connection_faults import commit_cut, cut_database, cut_log, produce_cut, slow_database
from proofs.chaos.service_faults import Scene, join_and_leave, kill, kill_at_point, term, wrong_clock, zombie

Promise = Literal["P1", "P2", "P3", "P4", "P5", "P6", "P7", "P8", "P9", "P10"]
ServiceFault = Callable[[Scene, str], Awaitable[None]]
SERVICE_FAULTS: tuple[tuple[str, ServiceFault, float], ...] = (
    ("kill", kill, 40),
    ("kill_at_point", kill_at_point, 20),
    ("term", term, 10),
    ("join_and_leave", join_and_leave, 10),
    ("zombie", zombie, 6),
    ("slow_database", slow_database, 7),
    ("cut_database", cut_database, 4),
    ("commit_cut", commit_cut, 10),
    ("produce_cut", produce_cut, 10),
    ("cut_log", cut_log, 4),
    ("wrong_clock", wrong_clock, 3),
)
"""Name, function, and weight of each fault."""
BROKER_FAULTS = ("leader_killed", "broker_isolated", "broker_paused", "two_killed", "rolling_restart")
"""Faults of `python -m proofs.chaos --faults brokers`."""
TESTED_BY: dict[Promise, tuple[str, ...]] = {
    "P1": (
        *("kill", "kill_at_point", "response_cut", "commit_cut", "produce_cut"),
        *("broker_kill", "postgres_crash", "topic_made_again"),
        *BROKER_FAULTS,
    ),
    "P2": (
        *("redelivery", "response_cut", "commit_cut", "produce_cut"),
        *("kill", "kill_at_point", "zombie", "racing_producers"),
        *BROKER_FAULTS,
    ),
    "P3": ("wrong_clock", "jumping_clock", "racing_producers", "redelivery", "join_and_leave"),
    "P4": ("kill_at_point", "zombie", "commit_cut", "produce_cut", "broker_stop", "broker_kill", *BROKER_FAULTS),
    "P5": ("broker_kill", "broker_stop", "produce_cut", "kill", "records_deleted", *BROKER_FAULTS),
    "P6": ("poison", "compressed_bomb"),
    "P7": (
        *("slow_database", "cut_database", "cut_log", "postgres_crash"),
        *("database_read_only", "database_full", "cancelled_backends", "locked_tables", "stopped_minute"),
    ),
    "P8": ("join_and_leave", "zombie", "cut_log", "kill_at_point"),
    "P9": ("term",),
    "P10": ("kill", "postgres_crash", "redelivery"),
}
"""Faults that test each guarantee."""
