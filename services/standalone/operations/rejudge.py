"""Repeated judgement of the messages in an inference database while the services run."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any

from contracts.instants import format_instant
from inference.detector_setup import open_detector, open_judging
from inference.differences import Differences
from inference.parts import SCHEMA
from inference.rejudge import rejudge, what_would_change
from inference.rejudgements import Rejudgement, Rejudgements
from inference.settings import InferenceSettings
from inference.store_postgres import PostgresConversationStore
from servicekit.clock import SystemClock
from servicekit.db.pools import open_pool
from servicekit.errors import StartError
from servicekit.log.messages import Producer
from standalone.operations.log_access import LogTarget, database_answers, writing_to

Say = Callable[[str], None]
OpenProgress = Callable[[int, int], Callable[[int], None]]
"""Function that receives the number of messages to judge and the number already judged.

It returns a callback for the size of each batch.
"""


@dataclass(frozen=True)
class Rejudged:
    """Result of judging messages again. `epoch` is None for a dry run."""

    epoch: int | None
    detector: str
    since: int
    differences: Differences


class _NoLog:
    """Producer for dry runs, which fails if anything is sent."""

    async def send(self, messages: Any) -> Any:
        raise AssertionError("a comparison announces nothing")


async def rejudge_database(
    settings: InferenceSettings,
    target: LogTarget,
    since: int | None,
    *,
    dry_run: bool,
    force: bool,
    say: Say,
    open_progress: OpenProgress,
) -> Rejudged:
    """Judge stored messages again.

    Args:
        since: Earliest time of the messages in microseconds, or None to continue an interrupted run.
        force: True to use this machine's detector even if the services use another one.

    Raises:
        StartError: There is no run to continue, another run is active, or the services use another detector.
    """
    await database_answers(settings.database_url)
    async with AsyncExitStack() as parts:
        pool = await open_pool(settings.database_url, "inference", SCHEMA, size=3, say=say, plan="indexed")
        parts.push_async_callback(pool.close)
        rejudgements = Rejudgements(await parts.enter_async_context(pool.acquire()))
        store, detector = PostgresConversationStore(pool), await open_detector(settings, say)
        producer: Producer = _NoLog() if dry_run else await parts.enter_async_context(writing_to(target))
        judging = await open_judging(settings, pool, producer, detector, SystemClock(), parts)
        if dry_run:
            if since is None:
                raise StartError("Name the time with --since.")
            progress = open_progress(await rejudgements.total(since), 0)
            return Rejudged(
                None, judging.version, since, await what_would_change(store, rejudgements, judging, since, progress)
            )
        await rejudgements.lock()
        await _refuse_other_detectors(rejudgements, judging.version, force)
        run = await _run(rejudgements, since, judging.version, say)
        progress = open_progress(await rejudgements.total(run.since), sum(run.counts.values()))
        return Rejudged(run.epoch, run.detector, run.since, await rejudge(store, rejudgements, judging, run, progress))


async def _run(rejudgements: Rejudgements, since: int | None, version: str, say: Say) -> Rejudgement:
    """Return the unfinished run if it has this detector version and start time, otherwise begin a new run.

    If `since` is None, an unfinished run with any start time is continued.

    Raises:
        StartError: `since` is None and there is no run to continue.
    """
    left = await rejudgements.unfinished()
    if left is not None and left.detector == version and since in (None, left.since):
        done = sum(left.counts.values())
        say(f"Going on with epoch {left.epoch}: {done:,} messages from {format_instant(left.since)} on are done.")
        return left
    if since is None:
        raise StartError("No run of this detector was stopped: name the time with --since.")
    return await rejudgements.begin(since, version)


async def _refuse_other_detectors(rejudgements: Rejudgements, version: str, force: bool) -> None:
    others = await rejudgements.other_detectors(version)
    if others and not force:
        raise StartError(
            f"This command judges with {version}, but the services have judged with {', '.join(others)} in the last ten"
            " minutes: use the same release and sentence encoder (INFERENCE_SENTENCE_ENCODER), or say --force."
        )
