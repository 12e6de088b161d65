"""Proves that the harness can catch a bug: seven planted ones, each under its fault, and none in sound services."""

from __future__ import annotations

import asyncio
import json
import time
from dataclasses import dataclass, replace

from rich.console import Console
from rich.table import Table

from chaos.lanes import say
from chaos.plan import Bug, Plan
from chaos.progress import Progress
from chaos.publisher import now_us
from chaos.racing import races
from chaos.report import Result
from chaos.run import Options, Script, run
from chaos.service_faults import Scene, _guest, kill_and_replace

SECONDS = 24.0


async def killed_while_slow(scene: Scene, progress: Progress, until: float) -> None:
    """Services that wait for their database are killed: what they hold must come again."""
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
    """The feedback service dies between its write and its announcement, and again."""
    while time.monotonic() < until - 3:
        scene.note("kill_at_point")
        await kill_and_replace(scene, "feedback", replace(scene.fleet.base, die_at="before_publish", die_after=4))
        await asyncio.sleep(14)


async def two_writers(scene: Scene, progress: Progress, until: float) -> None:
    """Two feedback services work on the same few feedbacks, with a database that takes its time."""
    await _guest(scene, "feedback")
    scene.cluster.doors["feedback"].delay = 0.1
    while time.monotonic() < until:
        scene.note("racing_producers")
        one, two = races(scene.seed, 60, now_us())
        await asyncio.gather(scene.racers[0].write(one), scene.racers[1].write(two))
        await asyncio.sleep(0.5)
    scene.cluster.doors["feedback"].delay = 0.0


async def load_alone(scene: Scene, progress: Progress, until: float) -> None:
    """No fault but those in the records themselves."""
    scene.note("poison")


@dataclass(frozen=True, slots=True)
class Check:
    """A planted bug, what reveals it, and the plan of a sound service under the same conditions."""

    bug: Bug
    script: Script
    sound: Plan = Plan()  # noqa: RUF009  # frozen, so all may share it
    poison: float = 0.01


CHECKS = (
    Check("commit_before_write", killed_while_slow),
    Check("auto_commit", killed_while_slow),
    Check("announce_only_changes", killed_before_publish),
    Check("unguarded_write", two_writers),
    Check("parser_raises_on_header", load_alone),
    Check("accept_without_write", load_alone),
    Check("forget_failed_dead_letter", load_alone, Plan(refuse_letters=0.5), 0.05),
)


async def selfcheck(seed: int, only: str | None = None) -> int:
    """0 where every planted bug is caught and no sound service is accused."""
    table = Table("planted", "caught", "by", "sound services")
    chosen = [check for check in CHECKS if only in (None, check.bug)]
    sound: dict[object, Result] = {}
    caught = clean = 0
    for check in chosen:
        planted = await _run(check, seed, replace(check.sound, bug=check.bug))
        under = check.script, check.sound
        if under not in sound:
            sound[under] = await _run(check, seed, check.sound)
        reason = next(iter([*(f.first for f in planted.findings if f.first), *planted.wrong]), "")
        accused = next(iter([*(f.first for f in sound[under].findings if f.first), *sound[under].wrong]), "")
        say(f"{check.bug}: {reason or 'NOT CAUGHT'}; sound services: {accused or 'pass'}")
        caught += not planted.ok
        clean += sound[under].ok
        table.add_row(
            check.bug, "no" if planted.ok else "yes", reason[:160], "pass" if sound[under].ok else accused[:160]
        )
    Console(width=200).print(table)
    good = caught == clean == len(chosen)
    print(json.dumps({"seed": seed, "planted": len(chosen), "caught": caught, "sound_passed": clean,
                      "verdict": "ok" if good else "failed"}), flush=True)  # fmt: skip
    return 0 if good else 1


async def _run(check: Check, seed: int, plan: Plan) -> Result:
    say(f"--- {check.script.__name__}: {plan.bug or 'sound'}")
    options = Options(SECONDS / 60, seed, base=plan, compacted=False, poison=check.poison, drain=40)
    return await run(options, check.script)
