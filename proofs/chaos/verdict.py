"""Reads the state of all services when they are idle, and compares it with the ledger."""

from __future__ import annotations

from pathlib import Path

from detector.detector import Detector
from detector.encoders.choice import sentence_encoder
from proofs.chaos import observed
from proofs.chaos.callers import KIND
from proofs.chaos.cluster import Cluster
from proofs.chaos.compare import Finding, Observations, Wanted, compare
from proofs.chaos.expected_verdicts import expected_verdicts
from proofs.chaos.hostile import TENANTS
from proofs.chaos.ledger import entries_of
from proofs.chaos.logs import announcements, letters
from proofs.chaos.recount import effective, recount


def wanted_of(ledger: Path) -> Wanted:
    """Compute the expected state from the ledger file `ledger`."""
    expected = recount(entries_of(ledger))
    verdicts = expected_verdicts(expected.messages, Detector.default(sentence_encoder("auto", print)))
    over_http = recount(entry for entry in entries_of(ledger) if entry.kind == KIND)
    return Wanted(expected, effective(expected.records), verdicts, TENANTS, over_http)


async def observe(cluster: Cluster) -> Observations:
    bootstrap = cluster.kafka.bootstrap
    announced, held = await announcements(bootstrap), await letters(bootstrap)
    connection = await cluster.connect()
    try:
        return Observations(
            stored=await observed.stored(connection),
            history=await observed.history(connection),
            announced=announced,
            letters=held,
            parked=await observed.parked(connection),
            people=await observed.people_effective(connection),
            machine=await observed.machine_effective(connection),
            messages=await observed.reported_messages(connection),
            judged_turns=await observed.judged_turns(connection),
        )
    finally:
        await connection.close()


async def judge(cluster: Cluster, ledger: Path) -> list[Finding]:
    """Return the comparisons of the actual state with the ledger."""
    return compare(wanted_of(ledger), await observe(cluster))
