"""Repeated judgement of the messages in an inference database while the services run."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AsyncExitStack

from inference.detector_setup import gate_of, open_detector, open_endpoint
from inference.judging import Judging
from inference.parts import SCHEMA
from inference.rejudge import Rejudging
from inference.settings import InferenceSettings
from inference.store import ConversationStore
from inference.turns.store import TurnIndex
from inference.turns.vectors import TurnVectors
from servicekit.clock import SystemClock
from servicekit.db.pools import open_pool
from standalone.operations.log_access import LogTarget, database_answers, writing_to

Say = Callable[[str], None]
OpenProgress = Callable[[int], Callable[[int], None]]
"""Function that receives the number of messages to judge, and returns a callback for the size of each batch."""


async def rejudge_database(
    settings: InferenceSettings, target: LogTarget, since: int, *, say: Say, open_progress: OpenProgress
) -> tuple[str, int]:
    """Judge the messages again whose verdicts come from a lower release or mode of the detector.

    Args:
        since: Earliest time of the messages in microseconds.

    Returns:
        The version of the detector, and the number of messages.
    """
    await database_answers(settings.database_url)
    async with AsyncExitStack() as parts:
        pool = await open_pool(settings.database_url, "inference", SCHEMA, size=3, say=say)
        parts.push_async_callback(pool.close)
        connection = await parts.enter_async_context(pool.acquire())
        detector = await open_detector(settings, say)
        producer = await parts.enter_async_context(writing_to(target))
        gate = gate_of(settings, open_endpoint(settings, parts), pool, detector, SystemClock())
        judging = Judging(TurnIndex(connection, TurnVectors(detector.embedder)), producer, detector, gate)
        rejudging = Rejudging(connection, ConversationStore(pool), judging)
        progress = open_progress(await rejudging.count(since))
        return str(judging.version), await rejudging.run(since, progress)
