"""One run: servers, load, faults, idle, comparison."""

from __future__ import annotations

import asyncio
import contextlib
import random
import shutil
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from detector.detector import Detector
from detector.encoders.choice import sentence_encoder
from proofs.chaos import observed
from proofs.chaos.broker_faults import ReplicatedCluster, broker_lane
from proofs.chaos.callers import Callers
from proofs.chaos.cluster import SERVICES, Cluster
from proofs.chaos.compare import Finding, announced_states, compare
from proofs.chaos.fleet import NO_PLAN, Fleet
from proofs.chaos.lanes import EDGES, common_lane, edge_lane, service_lane
from proofs.chaos.ledger import Ledger, entries_of
from proofs.chaos.logs import Announced, announcements, compact
from proofs.chaos.plan import Plan
from proofs.chaos.process import say
from proofs.chaos.progress import Progress
from proofs.chaos.publisher import Load, Writer
from proofs.chaos.recovery import Recovery
from proofs.chaos.report import Result
from proofs.chaos.service_faults import Scene
from proofs.chaos.traffic import Traffic
from proofs.oracle import expected_verdicts, recount

LANES = ("services", "servers")
"""Lanes of repeated faults: in one service each, and in the log and the database."""
BROKERS = "brokers"
"""Lane of repeated faults of three replicated brokers, without other faults."""
DRAIN_LIMIT = 120.0
"""Maximum seconds from the end of the load until everything is processed."""
CALL_LIMIT = 60.0
"""Maximum seconds from the end of the load until every HTTP request is accepted."""
LAST_FAULT = 15.0
"""Seconds before the end at which the last fault may begin, so that the end is not delayed much."""
SWEEP = 6.0
"""Seconds of quiet that exceed the interval of every periodic sweep."""


@dataclass(frozen=True)
class Options:
    """`minutes` of faults after the edges; `rate` in events per second; `base` is the plan of every service process."""

    minutes: float
    seed: int
    rate: float = 300.0
    base: Plan = NO_PLAN
    keep: Path | None = None
    faults: tuple[str, ...] = LANES
    """Lanes of repeated faults, and names of EDGES: faults that are injected once each, before the lanes."""


Script = Callable[[Scene, float], Awaitable[None]]


@asynccontextmanager
async def working_folder(keep: Path | None) -> AsyncIterator[Path]:
    """Yield a folder for one run; delete it afterwards unless it must be kept."""
    folder = keep or Path(tempfile.mkdtemp(prefix="chaos-", dir="/tmp"))
    folder.mkdir(parents=True, exist_ok=True)
    try:
        yield folder
    finally:
        if keep is None:
            shutil.rmtree(folder, ignore_errors=True)


async def run(options: Options, script: Script | None = None) -> Result:
    """Run the load while `script`, by default the lanes of the options, injects faults, then compare."""
    servers = ReplicatedCluster if BROKERS in options.faults else Cluster
    async with working_folder(options.keep) as folder, servers(folder) as cluster:
        ledger = Ledger(folder / "ledger.jsonl")
        progress, drain = Progress(cluster.kafka.bootstrap), Progress(cluster.kafka.bootstrap)
        recovery, fleet = Recovery(progress), Fleet(cluster, options.base)
        writers = [Writer(cluster.kafka.bootstrap, ledger, options.seed + n, f"chaos-{n}") for n in range(3)]
        load = Load(Traffic(options.seed), writers[0], options.rate)
        callers = Callers(fleet, ledger, options.seed)
        scene = Scene(cluster, fleet, load, callers, writers[0], (writers[1], writers[2]), recovery,
                      random.Random(options.seed), options.seed)  # fmt: skip
        say(f"starting the services in {folder}")
        await fleet.start()
        connection = await cluster.connect()
        await observed.watch_store(connection)
        await connection.close()
        watching = [asyncio.create_task(fleet.watch()), asyncio.create_task(recovery.watch())]
        try:
            await _load(options, scene, drain, script)
            say(f"{ledger.count:,} records acknowledged; waiting for quiet")
            drained = await drain.quiet(SWEEP, DRAIN_LIMIT)
            say("comparing")
            findings = await _compared(cluster, ledger.path)
        finally:
            for task in watching:
                task.cancel()
            await asyncio.wait(watching, timeout=10)
        recovery.close()
        with contextlib.suppress(ProcessLookupError):
            scene.stops.extend((await fleet.stop()).values())
        for writer in writers:
            await writer.close()
        await asyncio.gather(progress.close(), drain.close())
        ledger.close()
        wrong = [*fleet.gave_up, *scene.wrong, *callers.wrong]
        if not drained:
            wrong.append(f"there was no quiet within {DRAIN_LIMIT:.0f} s of the load's end")
        for note in scene.trouble:
            say(f"note: {note}")
        for one in sorted(recovery.all, reverse=True)[:5]:
            say(f"note: {one}")
        return Result(options.seed, ledger.count, dict(scene.faults), findings, scene.stops, recovery.slowest,
                      fleet.peak_mb, wrong)  # fmt: skip


async def _load(options: Options, scene: Scene, progress: Progress, script: Script | None) -> None:
    """Run the load over Kafka and HTTP while faults are injected; on return, all of it was accepted."""
    say("load and faults begin")
    load, callers = scene.load, scene.callers
    loading, calling = asyncio.create_task(load.run()), asyncio.create_task(callers.run())
    await edge_lane(scene, progress, [name for name in options.faults if name in EDGES])
    until = time.monotonic() + options.minutes * 60
    if script:
        await script(scene, until)
    else:
        await asyncio.gather(*_lanes(options, scene, until - LAST_FAULT))
    await asyncio.sleep(max(0.0, until - time.monotonic()))
    load.ending = callers.ending = True
    await loading
    try:
        await asyncio.wait_for(calling, CALL_LIMIT)
    except TimeoutError:
        scene.wrong.append(f"a request over HTTP was not accepted within {CALL_LIMIT:.0f} s of the last fault")
    scene.faults["response_cut"] = callers.responses_cut
    say(f"{callers.repeats} requests were sent again, {callers.responses_cut} of them after they were accepted")
    say(f"responses to writes cut: {dict(scene.responses_cut)}")


def _lanes(options: Options, scene: Scene, until: float) -> Iterator[Awaitable[None]]:
    if "services" in options.faults:
        yield from (service_lane(scene, name, until) for name in SERVICES)
    if "servers" in options.faults:
        yield common_lane(scene, until)
    if BROKERS in options.faults:
        yield broker_lane(scene, until)


async def _compared(cluster: Cluster, ledger: Path) -> list[Finding]:
    """Compare the state of all services with the ledger, and with what a new consumer reads after a compaction."""
    expected = recount(entries_of(ledger))
    verdicts = expected_verdicts(expected.messages, Detector.default(sentence_encoder("auto", print)))
    seen = await observed.observe(cluster)
    findings = compare(expected, verdicts, seen)
    before, after = await compact(cluster.kafka.bootstrap)
    say(f"compaction left {after:,} of {before:,} announcements")
    left = {one.feedback_id: one for one in sorted(await announcements(cluster.kafka.bootstrap), key=_revision)}
    return [*findings, announced_states("a fresh consumer after compaction", seen.stored, left.values())]


def _revision(announced: Announced) -> int:
    return announced.revision
