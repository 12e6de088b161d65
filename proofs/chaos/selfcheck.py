"""Checks that the harness detects planted bugs, each under its fault, and reports none for correct services."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, replace
from itertools import count

from rich.console import Console
from rich.table import Table

from proofs.chaos.plan import Bug, Plan
from proofs.chaos.process import say
from proofs.chaos.publisher import now_us
from proofs.chaos.report import Result
from proofs.chaos.run import Options, Script, run
from proofs.chaos.service_faults import Scene, lose_responses
from proofs.chaos.traffic import races

SECONDS = 24.0


async def killed_while_slow(scene: Scene, until: float) -> None:
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


async def produces_cut(scene: Scene, until: float) -> None:
    """Lose the responses to some announcements of the feedback service while two writers judge the same few turns,
    others after every third loss."""
    for number in count():
        if time.monotonic() > until - 2:
            return
        scene.note("produce_cut")
        one, two = races(scene.seed, 60, now_us(), about=1 + number // 3)
        writing = asyncio.gather(scene.racers[0].write(one), scene.racers[1].write(two))
        door = scene.cluster.log_doors["feedback"]
        scene.responses_cut["produce_cut feedback"] += await lose_responses(door, scene.rng, 1.0, share=0.5)
        await writing


async def load_alone(scene: Scene, until: float) -> None:
    """Run without faults except those in the records themselves."""
    scene.note("poison")


@dataclass(frozen=True, slots=True)
class Check:
    """Planted bug, the script that reveals it, and the plan of a correct service under the same conditions."""

    bug: Bug
    script: Script
    sound: Plan = Plan()  # noqa: RUF009  # frozen, so all may share it


CHECKS = (
    Check("auto_commit", killed_while_slow),
    Check("resend_later", produces_cut),
    Check("parser_raises_on_header", load_alone),
    Check("accept_without_write", load_alone),
    Check("forget_failed_dead_letter", load_alone, Plan(refuse_letters=0.5)),
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
        reason, accused = (next(iter(result.errors), "") for result in (planted, sound[under]))
        say(f"{check.bug}: {reason or 'NOT CAUGHT'}; sound services: {accused or 'pass'}")
        caught += bool(reason)
        clean += not accused
        table.add_row(check.bug, check.script.__name__, "yes" if reason else "no", reason[:140],
                      accused[:140] or "pass")  # fmt: skip
    Console(width=200).print(table)
    return 0 if caught == clean == len(chosen) else 1


async def _run(check: Check, seed: int, rate: float, plan: Plan) -> Result:
    say(f"--- {check.script.__name__}: {plan.bug or 'sound'}")
    return await run(Options(SECONDS / 60, seed, rate, base=plan), check.script)
