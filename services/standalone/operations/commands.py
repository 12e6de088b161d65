"""Commands that publish to a running log, or read the report of a state."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import httpx

from servicekit.errors import StartError
from servicekit.log.cluster import cluster_at
from servicekit.log.messages import Producer
from servicekit.log.producer import BatchProducer
from standalone.embedded.postgres import EmbeddedPostgres
from standalone.log import log_of
from standalone.one_process.replay import ReplayResult
from standalone.one_process.replay import replay as replay_files
from standalone.operations.log_access import admin_of
from standalone.operations.remote_backpressure import with_backpressure
from standalone.operations.report import report_from_database
from standalone.state import StateFolder, running


async def publish(files: Sequence[Path], broker: str | None, state: Path) -> dict[str, Any]:
    """Publish the lines of `files`; return `{"lines", "events", "rejected"}`, the last with rows as in `--outcomes`."""
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


async def report_of(state: Path, say: Callable[[str], None]) -> dict[str, Any]:
    """Return the report of a running `up`, or from the database that an earlier run left in `state`."""
    if (state / "run.json").exists():
        facts = running(state)
        try:
            async with httpx.AsyncClient(base_url=facts["url"], timeout=10, trust_env=False) as client:
                answer = await client.get("/report", headers={"Authorization": f"Bearer {facts['token']}"})
                answer.raise_for_status()
                report: dict[str, Any] = answer.json()
                return report
        except httpx.ConnectError:
            say("The last run did not end cleanly; reading the state it left.")
        except httpx.HTTPStatusError as error:
            status = error.response.status_code
            why = f"see {facts['url']}health/ready"
            raise StartError(f"The run at {facts['url']} has no report now (status {status}): {why}.") from None
        except httpx.HTTPError as error:
            raise StartError(f"The run at {facts['url']} does not answer: {type(error).__name__}.") from None
    if not (state / "lock").exists():
        raise StartError(f"There is no state in {state.absolute()}: start with `agent-feedback up --sample`.")
    with StateFolder(state) as folder:
        async with EmbeddedPostgres(folder.path / "postgres", say) as postgres:
            return await report_from_database(postgres.url)
