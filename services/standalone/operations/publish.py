"""Publication of event files to a running log."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from servicekit.log.cluster import cluster_at
from servicekit.log.messages import Producer
from servicekit.log.producer import BatchProducer
from standalone.log import log_of
from standalone.one_process.replay import ReplayResult
from standalone.one_process.replay import replay as replay_files
from standalone.operations.log_access import admin_of
from standalone.operations.remote_backpressure import with_backpressure
from standalone.state import running


async def publish(files: Sequence[Path], broker: str | None, state: Path) -> dict[str, Any]:
    """Publish the lines of `files` to the given broker, or to the running `up` if no broker is given.

    Returns:
        The fields "lines", "events" and "rejected". The rejected lines have the format of `--outcomes`.
    """
    facts = {} if broker else running(state)
    bootstrap = cluster_at(broker) if broker else log_of(facts)
    producer, account = BatchProducer(bootstrap, client_id="agent-feedback-replay"), ReplayResult()
    async with AsyncExitStack() as parts:
        admin = await admin_of(bootstrap)
        parts.push_async_callback(admin.close)
        parts.push_async_callback(producer.stop)
        log: Producer = producer
        if facts.get("log") == "memory":
            log = await parts.enter_async_context(with_backpressure(producer, admin, facts["groups"]))
        await replay_files(files, log, account, check_models=True)
    rejected = [one.row() for one in account.rejected]
    return {"lines": account.lines, "events": account.events, "rejected": rejected}
