"""Checks that the harness detects planted bugs, each under its fault, and reports none for correct services."""

from __future__ import annotations

import asyncio
import json
import time
from dataclasses import dataclass, replace
from itertools import count

from rich.console import Console
from rich.table import Table

from proofs.chaos.announce import say
from proofs.chaos.connection_faults import lose_responses
from proofs.chaos.plan import Bug, Plan
from proofs.chaos.progress import Progress
from proofs.chaos.proxy import Door
from proofs.chaos.publisher import now_us
from proofs.chaos.racing import races
from proofs.chaos.report import Result
from proofs.chaos.run import Options, Script, run
from proofs.chaos.service_faults import Scene, _guest, kill_and_replace

SECONDS = 24.0


async def killed_while_slow(scene: Scene, progress: Progress, until: float) -> None:
    """Kill services while they wait for their database: their batches must be delivered again."""
    names = ("feedback", "chat_bridge")
    while time.monotonic() < until - 8:
        for name in names:
            scene.cluster.doors[name].delay = 2.0
        await asyncio.sleep(4)
        for name in names:
            scene.note("kill")
            scene.fleet.main[name].kill()
            scene.cluster.doors[name].delay = 0.0
        await asyncio.sleep(7)


async def killed_before_publish(scene: Scene, progress: Progress, until: float) -> None:
    """Kill the feedback service between its write and its announcement, twice."""
    while time.monotonic() < until - 3:
        scene.note("kill_at_point")
        await kill_and_replace(scene, "feedback", replace(scene.fleet.base, die_at="before_publish", die_after=4))
        await asyncio.sleep(14)


async def two_writers(scene: Scene, progress: Progress, until: float) -> None:
    """Run two feedback services on the same few feedback records, with a slow database."""
    await _guest(scene, "feedback")
    scene.cluster.doors["feedback"].delay = 0.1
    while time.monotonic() < until:
        scene.note("racing_producers")
        one, two = races(scene.seed, 60, now_us())
        await asyncio.gather(scene.racers[0].write(one), scene.racers[1].write(two))
        await asyncio.sleep(0.5)
    scene.cluster.doors["feedback"].delay = 0.0


async def commits_cut(scene: Scene, progress: Progress, until: float) -> None:
    """Lose the responses to some writes of the feedback service, without other faults."""
    await _cut(scene, "commit_cut", scene.cluster.doors["feedback"], until)


async def produces_cut(scene: Scene, progress: Progress, until: float) -> None:
    """Lose the responses to some announcements of the feedback service, without other faults."""
    await _cut(scene, "produce_cut", scene.cluster.log_doors["feedback"], until)


async def _cut(scene: Scene, fault: str, door: Door, until: float) -> None:
    """Lose responses through `door` while two writers judge the same few turns, others after every third loss."""
    for number in count():
        if time.monotonic() > until - 2:
            return
        scene.note(fault)
        one, two = races(scene.seed, 60, now_us(), about=1 + number // 3)
        writing = asyncio.gather(scene.racers[0].write(one), scene.racers[1].write(two))
        scene.responses_cut[f"{fault} feedback"] += await lose_responses(door, scene.rng, 1.0, share=0.5)
        await writing


async def load_alone(scene: Scene, progress: Progress, until: float) -> None:
    """Run without faults except those in the records themselves."""
    scene.note("poison")


@dataclass(frozen=True, slots=True)
class Check:
    """Planted bug, the script that reveals it, and the plan of a correct service under the same conditions."""

    bug: Bug
    script: Script
    sound: Plan = Plan()  # noqa: RUF009  # frozen, so all may share it
    poison: float = 0.01


CHECKS = (
    Check("commit_before_write", killed_while_slow),
    Check("auto_commit", killed_while_slow),
    Check("announce_only_changes", killed_before_publish),
    Check("announce_only_changes", commits_cut),
    Check("resend_later", produces_cut),
    Check("unguarded_write", two_writers),
    Check("parser_raises_on_header", load_alone),
    Check("accept_without_write", load_alone),
    Check("forget_failed_dead_letter", load_alone, Plan(refuse_letters=0.5), 0.05),
)


async def selfcheck(seed: int, only: str | None = None, rate: float = 300.0) -> int:
    """Return 0 if every planted bug is detected and no correct service is accused. `rate` is in events per second."""
    table = Table("planted", "under", "caught", "by", "sound services")
    chosen = [check for check in CHECKS if only in (None, check.bug)]
    sound: dict[object, Result] = {}
    caught = clean = 0
    for check in chosen:
        planted = await _run(check, seed, rate, replace(check.sound, bug=check.bug))
        under = check.script, check.sound
        if under not in sound:
            sound[under] = await _run(check, seed, rate, check.sound)
        reason = next(iter([*(f.first for f in planted.findings if f.first), *planted.wrong]), "")
        accused = next(iter([*(f.first for f in sound[under].findings if f.first), *sound[under].wrong]), "")
        say(f"{check.bug}: {reason or 'NOT CAUGHT'}; sound services: {accused or 'pass'}")
        caught += not planted.ok
        clean += sound[under].ok
        table.add_row(check.bug, check.script.__name__, "no" if planted.ok else "yes", reason[:140],
                      "pass" if sound[under].ok else accused[:140])  # fmt: skip
    Console(width=200).print(table)
    good = caught == clean == len(chosen)
    print(json.dumps({"seed": seed, "planted": len(chosen), "caught": caught, "sound_passed": clean,
                      "verdict": "ok" if good else "failed"}), flush=True)  # fmt: skip
    return 0 if good else 1


async def _run(check: Check, seed: int, rate: float, plan: Plan) -> Result:
    say(f"--- {check.script.__name__}: {plan.bug or 'sound'}")
    options = Options(SECONDS / 60, seed, rate, base=plan, compacted=False, poison=check.poison, drain=40)
    return await run(options, check.script)
