"""A database outage of minutes under load: memory stays bounded, health is correct, and the services catch up."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import time
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

import httpx
from rich.console import Console
from rich.table import Table

from proofs.chaos.announce import say
from proofs.chaos.cluster import SERVICES
from proofs.chaos.process import TOKEN
from proofs.chaos.progress import AWAY, Positions, Progress, groups_of
from proofs.chaos.report import RSS_LIMIT, print_result
from proofs.chaos.run import Options, run
from proofs.chaos.service_faults import Scene

GRACE = 20.0
"""Seconds after a change in which health may still report the previous state."""
LAG_AGE = 12.0
"""Maximum age of the lag metric, in seconds."""
WARM_UP = 15.0
IDLE = 75.0
"""Seconds without input after which a service must still be ready."""
_LAG = re.compile(r'^agent_feedback_lag_records\{group="(\w+)"\} (\S+)', re.M)
Phase = str


@dataclass
class Watch:
    """Poller of every service's health, every two seconds, that records incorrect responses."""

    scene: Scene
    progress: Progress
    phase: Phase = "idle"
    since: float = field(default_factory=time.monotonic)
    wrong_answers: list[str] = field(default_factory=list)
    asked: int = 0
    peaks: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    lags: list[tuple[float, Positions]] = field(default_factory=list)

    def enter(self, phase: Phase) -> None:
        say(f"{phase}: {', '.join(f'{name} {peak:.0f} MB' for name, peak in self.peaks.items())}")
        self.phase, self.since = phase, time.monotonic()

    async def run(self) -> None:
        async with httpx.AsyncClient(
            timeout=5, trust_env=False, headers={"Authorization": f"Bearer {TOKEN}"}
        ) as client:
            while True:
                with contextlib.suppress(*AWAY):
                    self.lags.append((time.monotonic(), await self.progress.positions()))
                await asyncio.gather(*(self._ask(client, name) for name in SERVICES))
                await asyncio.sleep(2)

    async def _ask(self, client: httpx.AsyncClient, name: str) -> None:
        process = self.scene.fleet.main[name]
        self.peaks[name] = max(self.peaks[name], process.rss_mb())
        if process.port is None:
            return
        settled = time.monotonic() - self.since > GRACE
        try:
            ready = (await client.get(f"http://127.0.0.1:{process.port}/health/ready")).json()
            page = (await client.get(f"http://127.0.0.1:{process.port}/metrics")).text
        except httpx.HTTPError as error:
            self.wrong_answers.append(f"{name} does not answer in phase {self.phase}: {type(error).__name__}")
            return
        self.asked += 1
        is_ready = ready["status"] == "ready"
        if settled and is_ready == (self.phase == "outage"):
            self.wrong_answers.append(f"{name} says {ready} in phase {self.phase}")
        for group, value in _LAG.findall(page):
            self._check_lag(group, float(value))

    def _check_lag(self, group: str, said: float) -> None:
        """Note a metric outside of the minimum and maximum lag of the last seconds, with a tolerance."""
        now = time.monotonic()
        recent = [
            positions.lag(group) for at, positions in self.lags if now - at <= LAG_AGE and group in positions.committed
        ]
        if recent and now - self.since > GRACE and not min(recent) * 0.7 - 1_500 <= said <= max(recent) * 1.3 + 1_500:
            self.wrong_answers.append(
                f"{group} says lag {said:.0f} in phase {self.phase}; it was {min(recent)} to {max(recent)}"
            )


@dataclass
class Drain:
    """Catch-up speed of a group in records per second, and the rate at which records arrived meanwhile."""

    group: str
    backlog: int
    seconds: float
    rate: float
    input_rate: float


class Outage:
    def __init__(self, minutes: float) -> None:
        self._minutes = minutes
        self.watch: Watch | None = None
        self.drains: list[Drain] = []

    async def script(self, scene: Scene, progress: Progress, until: float) -> None:
        self.watch = watch = Watch(scene, Progress(scene.cluster.kafka.bootstrap))
        watching = asyncio.create_task(watch.run())
        try:
            if self._minutes >= 3:
                await scene.quiet()
                watch.enter("idle")
                await asyncio.sleep(IDLE)
                scene.resume()
            watch.enter("warm-up")
            await asyncio.sleep(WARM_UP)
            scene.note("postgres_crash")
            await scene.cluster.crash_postgres()
            watch.enter("outage")
            await asyncio.sleep(self._minutes * 60)
            await scene.cluster.postgres.start()
            watch.enter("drain")
            await self._drain(scene, progress)
            watch.enter("after")
            await asyncio.sleep(GRACE + 10)
        finally:
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)
            await watch.progress.close()

    async def _drain(self, scene: Scene, progress: Progress) -> None:
        """Wait until each group is within two seconds of its input, which continues."""
        began, start = time.monotonic(), await progress.positions()
        open_groups = {group: start.lag(group) for group in start.committed}
        while open_groups and time.monotonic() - began < self._minutes * 60 + 120:
            await asyncio.sleep(1)
            now, seconds = await progress.positions(), time.monotonic() - began
            for group, backlog in list(open_groups.items()):
                came = sum(now.ends[p] - start.ends[p] for p in now.committed[group])
                if now.lag(group) <= 2 * came / seconds + 300:
                    done = sum(now.committed[group][p] - n for p, n in start.committed[group].items())
                    self.drains.append(Drain(group, backlog, seconds, done / seconds, came / seconds))
                    del open_groups[group]
        for group, backlog in open_groups.items():
            self.drains.append(Drain(group, backlog, float("inf"), 0.0, 0.0))


async def outage(minutes: float, seed: int, rate: float, keep: Path | None) -> int:
    """Return 0 if every service kept its memory limit, reported its health correctly, caught up fast enough and lost
    nothing."""
    it = Outage(minutes)
    result = await run(Options(0, seed, rate, keep=keep, drain=300, compacted=False), it.script)
    watch = it.watch
    assert watch is not None
    table = Table("group", "memory at most", "backlog", "caught up in", "records/s", "input/s", "verdict")
    good = result.ok and not watch.wrong_answers
    for drain in sorted(it.drains, key=lambda one: one.group):
        memory = next(peak for name, peak in watch.peaks.items() if drain.group in groups_of(name))
        # A service that catches up produces faster than the load, so twice the load's own rate is required.
        # A group with a small lag has nothing to catch up.
        fast = drain.backlog <= rate or drain.rate >= 2 * min(drain.input_rate, rate)
        enough = fast and memory <= RSS_LIMIT
        good = good and enough
        table.add_row(drain.group, f"{memory:.0f} MB", f"{drain.backlog:,}", f"{drain.seconds:.0f} s",
                      f"{drain.rate:.0f}", f"{drain.input_rate:.0f}", "holds" if enough else "BROKEN")  # fmt: skip
    print_result(result)
    Console(width=140).print(table)
    print(f"Health and lag were asked {watch.asked} times; {len(watch.wrong_answers)} answers were not true")
    for answer in watch.wrong_answers[:10]:
        print(f"  {answer}")
    print(json.dumps({"seed": seed, "minutes": minutes, "events": result.events, "asked": watch.asked,
                      "wrong_answers": len(watch.wrong_answers),
                      "memory_mb": {n: round(p) for n, p in watch.peaks.items()},
                      "drain_per_s": {d.group: round(d.rate) for d in it.drains},
                      "verdict": "ok" if good else "failed"}), flush=True)  # fmt: skip
    return 0 if good else 1
