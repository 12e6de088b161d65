"""The previous release next to this one: its processes join our groups, and afterwards the upgrade is completed."""

from __future__ import annotations

import asyncio
import json
import sys

from proofs.chaos.announce import say
from proofs.chaos.cluster import SERVICES
from proofs.chaos.process import ServiceProcess
from proofs.chaos.progress import Progress
from proofs.chaos.service_faults import Scene
from proofs.chaos.shared_faults import redelivery
from proofs.chaos.traffic import LATEST

BEHIND = 180.0
"""Seconds that the groups may take to read what is in the log. Their time depends on how much was written, so it is no
recovery; the limit only ends a run in which they never would."""


async def previous_release(scene: Scene, progress: Progress) -> None:
    """Run processes of the previous release in every group for a while, under the same traffic, and finish the upgrade.

    It derives other event ids, which decide between two reactions of one person at the same microsecond. So the load
    has no such pair during that time.
    """
    if scene.previous is None:
        return
    scene.load.may_tie = False
    try:
        await asyncio.sleep(LATEST + 1)
        await _caught_up(scene, progress, "before the previous release joined")
        await run_previous(scene, scene.rng.uniform(8, 15))
    finally:
        scene.load.may_tie = True
    await finish_upgrade(scene, progress)


async def run_previous(scene: Scene, seconds: float) -> None:
    """Run one process of each of the previous release's services for `seconds` after they have started."""
    assert scene.previous is not None
    members = [scene.fleet.spawn_previous(name, scene.previous) for name in SERVICES]
    try:
        await asyncio.gather(*(member.running(90) for member in members))
        await asyncio.sleep(seconds)
    except RuntimeError as error:
        scene.wrong.append(f"the previous release did not start: {error}")
    await asyncio.gather(*(_leave(scene, member) for member in members))


async def _leave(scene: Scene, member: ServiceProcess) -> None:
    if member.code is not None:
        scene.wrong.append(f"{member.name} of the previous release ended by itself with {member.code}")
    elif scene.rng.random() < 0.3:
        member.kill()
    else:
        await member.terminate()
    scene.fleet.previous.remove(member)


async def finish_upgrade(scene: Scene, progress: Progress) -> None:
    """Do what docs/upgrading.md asks for after both releases ran, under the same traffic.

    Inference reads the chat topics again, since 0.1.0 keeps neither replies nor threads; all messages are judged again.
    """
    await redelivery(scene, "inference")
    await _caught_up(scene, progress, "before all messages were judged again")
    await _judge_again(scene)


async def _caught_up(scene: Scene, progress: Progress, when: str) -> None:
    if not await progress.caught_up(BEHIND):
        scene.wrong.append(f"the groups were more than {BEHIND:.0f} s behind {when}")


async def _judge_again(scene: Scene) -> None:
    cluster = scene.cluster
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "standalone", "rejudge", "--since", "2000-01-01T00:00:00Z", "--json"),
        *("--broker", cluster.kafka.bootstrap, "--database", cluster.postgres.url),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, errors = await process.communicate()
    if process.returncode:
        scene.wrong.append(f"rejudge ended with {process.returncode}: {errors.decode()[-300:]}")
        return
    facts = json.loads(out)
    say(f"judged again: {', '.join(f'{kind} {n:,}' for kind, n in facts.items() if isinstance(n, int))}")
