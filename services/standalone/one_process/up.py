"""A single-process run: start the services, replay files, serve or stop, and print a summary."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import time
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

from rich.console import Console
from rich.progress import DownloadColumn
from starlette.types import ASGIApp

from contracts.topics import KAFKA_PARTITIONS
from servicekit.clock import SystemClock
from servicekit.db.pools import wait_for_database
from servicekit.errors import StartError, shown
from servicekit.garbage_collection import tune_gc
from servicekit.log.cluster import Bootstrap, cluster_at
from servicekit.log.topics import ensure_topics, partitions_by_topic
from servicekit.service import ServiceContext
from servicekit.settings import read_settings
from servicekit.tracing import open_traces
from servicekit.web.application import add_routes, application, guarded
from servicekit.web.auth import AnyOf, Authenticator
from servicekit.web.auth_settings import AuthSettings, access_token, issuers_of
from servicekit.web.failures import HttpSettings
from servicekit.web.server import HttpServer
from standalone.embedded.backpressure import Backpressure
from standalone.embedded.memory_broker import MemoryBroker
from standalone.embedded.postgres import EmbeddedPostgres
from standalone.one_process.options import UpOptions
from standalone.one_process.outcomes import Outcomes, print_summary, summary
from standalone.one_process.replay import ReplayResult, replay, write_sample
from standalone.one_process.stack import Stack, start_stack
from standalone.state import StateFolder
from standalone.terminal import ANSWER_SECONDS, INTERRUPTED, DependencyLost, progress_bar
from standalone.waiting import Dependency, broker_at, database_at, once_answered, while_answered, within

Say = Callable[[str], None]
T = TypeVar("T")
HOST: Final = "127.0.0.1"
"""Address to listen on. On an address that other machines reach, the access token alone is not enough protection."""
DRAIN_SECONDS = 6.0
"""Time limit in seconds for processing the rest of the in-process log at shutdown."""
_CHECK_SECONDS: Final = 1.0
"""Interval in seconds at which a serving run checks its embedded database."""


class _Started(NamedTuple):
    """The started services.

    `postgres` is the embedded database if this run has started one. `needed` are the servers whose outage ends the run;
    it is empty if the run serves.
    """

    stack: Stack
    postgres: EmbeddedPostgres | None
    needed: Sequence[Dependency]


async def up(options: UpOptions, console: Console, say: Say) -> dict[str, Any] | None:
    """Run until a signal arrives or, with `exit`, until all input is processed.

    Returns:
        The summary, or None if a signal arrived before all input was processed.
    """
    began, stopping = time.monotonic(), _stopping(say)
    outcomes = Outcomes(keep=options.outcomes is not None)
    async with AsyncExitStack() as parts:
        state = parts.enter_context(StateFolder(options.state))
        token = state.token(os.environ.get("AGENT_FEEDBACK_TOKEN"))
        auth, http = read_settings(AuthSettings), read_settings(HttpSettings)
        callers = [access_token(token), *issuers_of(auth)]
        files = _files(options, state)
        server = HttpServer(HOST, options.http_port)
        parts.push_async_callback(server.stop)  # if the services do not start
        started = await _unless(stopping, asyncio.create_task(_start(options, state, outcomes, parts, say)))
        if started is None:
            return None
        stack = started.stack
        parts.push_async_callback(server.stop)  # otherwise, before they stop
        await server.start(_application(stack, callers, auth, http))
        url = f"http://{HOST}:{server.port}/"
        log = {"log": "memory" if options.has_memory_log else "kafka", "broker": str(stack.intake.bootstrap)}
        state.announce({"url": url, "token": token, **log, "database": stack.database_url, "groups": stack.groups})
        say(f"Ready after {time.monotonic() - began:.1f} s.")
        account = ReplayResult()

        async def process() -> dict[str, Any]:
            await _replay(options, files, stack, account, say)
            stored = await once_answered(stack.stored, say)
            return summary(account, outcomes, stack.produced, stored, time.monotonic() - began)

        effect = "stopped before the end of the input"
        work = while_answered(process(), started.needed, ANSWER_SECONDS, DependencyLost, effect)
        facts = await _unless(stopping, asyncio.create_task(work))
        if facts is None:
            return None
        if options.outcomes is not None:
            outcomes.write(options.outcomes, account)
        if files and not account.lines:
            say(f"Nothing was replayed: {', '.join(map(str, files))} {'is' if len(files) == 1 else 'are'} empty.")
        elif files and not options.as_json:
            print_summary(console, facts)
        if not options.exit:
            if not options.as_json:
                console.print(f"\nDashboard: [link]{url}?token={token}[/link]", soft_wrap=True)
            tune_gc()  # replaying files takes memory that serving does not need
            say("Serving until you press Ctrl-C.")
            await _serve(stopping, started.postgres)
        return facts


def _stopping(say: Say) -> asyncio.Event:
    """Return an event that SIGINT and SIGTERM set.

    A second Ctrl-C ends the process immediately, because the shutdown may be waiting for a server that never responds.
    """
    stopping = asyncio.Event()

    def interrupted() -> None:
        if stopping.is_set():
            say("Ended at once.")
            os._exit(INTERRUPTED)  # the embedded parts end with this process, however it dies
        say("Stopping ... (press Ctrl-C again to end at once)")
        stopping.set()

    asyncio.get_running_loop().add_signal_handler(signal.SIGINT, interrupted)
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopping.set)
    return stopping


def _files(options: UpOptions, state: StateFolder) -> list[Path]:
    """Return the files to replay. The sample's is in the state folder, and is written if it does not exist."""
    files = list(options.replay or ())
    if options.sample:
        with state.writing():
            files.append(write_sample(state.path / "sample.jsonl", SystemClock().now()))
    return files


async def _start(
    options: UpOptions, state: StateFolder, outcomes: Outcomes, parts: AsyncExitStack, say: Say
) -> _Started:
    database_url, postgres = await _open_database(options, state, parts, say)
    bootstrap = await _open_log(options, parts, say)
    say("Starting the services ...")
    tell = cache(say)  # several services may wait for the same database
    traces = open_traces()
    if traces is not None:
        parts.push_async_callback(traces.close)
    context = ServiceContext(bootstrap, reference_time=options.now, observers=[outcomes], say=tell, traces=traces)

    def make() -> Stack:
        backpressure = Backpressure() if options.has_memory_log else None
        # The run listens on this machine only. Its webhooks may therefore call private addresses.
        return Stack(context, database_url, backpressure, {"private_channels": True})

    database = database_at(database_url)
    needed: list[Dependency] = []
    if options.exit:  # a serving run waits instead
        needed = [database] if options.has_memory_log else [database, broker_at(bootstrap)]
    to_start = needed or ([] if postgres is None else [database])  # an embedded server does not restart
    starting = start_stack(make, tell)
    stack = await while_answered(starting, to_start, ANSWER_SECONDS, StartError, "the services did not start")
    parts.push_async_callback(stack.stop)
    tune_gc()
    if options.has_memory_log:
        parts.push_async_callback(_drain, stack, say)
    return _Started(stack, postgres, needed)


async def _open_database(
    options: UpOptions, state: StateFolder, parts: AsyncExitStack, say: Say
) -> tuple[str, EmbeddedPostgres | None]:
    if options.database is None:
        say("Starting PostgreSQL ...")
        postgres = await parts.enter_async_context(EmbeddedPostgres(state.path / "postgres", say))
        return postgres.url, postgres
    # Wait for the database once here, instead of in each service.
    await within(options.patience, wait_for_database(options.database, say), shown(options.database))
    return options.database, None


async def _open_log(options: UpOptions, parts: AsyncExitStack, say: Say) -> Bootstrap:
    if options.has_memory_log:
        return parts.enter_context(MemoryBroker(partitions_by_topic())).bootstrap
    cluster = cluster_at(options.broker)
    await within(options.patience, ensure_topics(cluster, partitions=KAFKA_PARTITIONS, say=say), options.broker)
    return cluster


async def _drain(stack: Stack, say: Say) -> None:
    if not await stack.drain(DRAIN_SECONDS):
        say("Stopped before all records were processed; the in-process log loses them: replay their files again.")


async def _unless(stopping: asyncio.Event, work: asyncio.Task[T]) -> T | None:
    """Await `work` and return its result, or cancel it and return None if the signal to stop arrives first."""
    stop = asyncio.create_task(stopping.wait())
    done, _ = await asyncio.wait({stop, work}, return_when=asyncio.FIRST_COMPLETED)
    stop.cancel()
    if work in done:
        return work.result()
    work.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await work
    return None


def _application(stack: Stack, callers: Sequence[Authenticator], auth: AuthSettings, http: HttpSettings) -> ASGIApp:
    """Return the application with the routes of all services. It accepts `callers` and the services' own API keys."""
    app = application(stack.not_ready, lambda: stack.warnings)
    add_routes(app, stack.routers)
    authenticator = AnyOf(*callers, *stack.authenticators)
    return guarded(app, authenticator, auth.cors_origins, http.request_seconds, sign_in_url=auth.sign_in_url)


async def _replay(options: UpOptions, files: Sequence[Path], stack: Stack, account: ReplayResult, say: Say) -> None:
    if options.has_memory_log:
        await _tell_of_store(stack, say)
    total, is_hidden = sum(file.stat().st_size for file in files), options.as_json or not files
    with progress_bar("Replaying", total, is_hidden, DownloadColumn()) as advance:
        await replay(files, stack.log, account, keep_places=options.outcomes is not None, progress=advance)
    with Console(stderr=True, quiet=is_hidden).status("Processing") as status:
        await stack.quiet(lambda lag: status.update(f"Processing ({lag:,} records to go)"))


async def _tell_of_store(stack: Stack, say: Say) -> None:
    """Tell the user how many stored feedback records are missing from the in-memory log."""
    if stored := (await once_answered(stack.services["feedback"].parts.store.count, say)).total():
        say(
            f"The log in memory starts empty in each run and has none of the store's {stored:,} feedback records: "
            "`agent-feedback ledger republish` announces them again."
        )


async def _serve(stopping: asyncio.Event, postgres: EmbeddedPostgres | None) -> None:
    """Wait for the signal to stop.

    Raises:
        DependencyLost: The embedded database has ended. It is not restarted.
    """
    while not stopping.is_set():
        if postgres is not None and postgres.has_ended:
            logging.disable()  # otherwise the services' errors would hide the reason
            raise DependencyLost("The database that this run started has ended: start the run again.")
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(stopping.wait(), _CHECK_SECONDS)
