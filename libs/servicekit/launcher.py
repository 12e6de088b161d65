"""Launcher that runs one service in its own process, configured by environment variables.

The command `python -m feedback --port 8082` runs the service `feedback`.
"""

from __future__ import annotations

import argparse
import asyncio
import faulthandler
import os
import signal
import sys
from typing import TYPE_CHECKING, Any

import uvloop

from servicekit.definition import ServiceDefinition
from servicekit.error_kinds import is_transient
from servicekit.errors import StartError, shown
from servicekit.garbage_collection import tune_gc
from servicekit.interrupts import raise_again
from servicekit.log.cluster import cluster_at
from servicekit.log.topics import ensure_topics
from servicekit.logging import configure_logging, logger
from servicekit.service import Service, ServiceContext
from servicekit.settings import content_of, read_env_file, read_settings
from servicekit.tracing import open_traces
from servicekit.web.application import add_routes, application, guarded
from servicekit.web.auth import AnyOf, AnyOfLater
from servicekit.web.auth_settings import AuthSettings, authenticator_for, remote_keys
from servicekit.web.failures import HttpSettings
from servicekit.web.server import HttpServer

if TYPE_CHECKING:
    from servicekit.otlp import Traces

log = logger("run")
NOT_STARTED = 3
"""Exit code if the service cannot start."""
STOP_SECONDS = 18.0
"""Maximum duration of an orderly stop, in seconds. After it, the process exits with code 1 and prints tracebacks. The
limit is needed because client libraries may ignore a cancellation, or wait for a peer that is gone. The records of an
unfinished batch are delivered again."""


def main(program: ServiceDefinition[Any]) -> None:
    """Run `program` with the options of the command line.

    Exits with code 3 if the program cannot start, and with code 2 if the options are invalid.
    """
    parser = argparse.ArgumentParser(
        prog=f"python -m {program.name}",
        description="Run this service against your Kafka and database, configured by its environment and the file .env "
        "(see .env.example). AGENT_FEEDBACK_TOKEN is the HTTP API's access token, if AUTH_ISSUERS is not set.",
    )
    parser.add_argument("--host", default="127.0.0.1", help="the address to listen on (default: %(default)s)")
    parser.add_argument("--port", default=8080, type=int, help="the HTTP port; 0 takes a free one (default: 8080)")
    options = parser.parse_args()
    if not 0 <= options.port <= 65535:
        parser.error("--port takes a number from 0 to 65535")
    configure_logging()
    raise_again()
    try:
        read_env_file()
        uvloop.run(run_program(program, options.host, options.port, os.environ.get("AGENT_FEEDBACK_TOKEN")))
    except StartError as error:
        sys.stderr.write(f"{error}\n")
        sys.exit(NOT_STARTED)
    except KeyboardInterrupt:
        sys.exit(130)


async def run_program(program: ServiceDefinition[Any], host: str, port: int, token: str | None) -> None:
    """Run the service until SIGINT or SIGTERM, and stop within 20 seconds of the signal.

    Args:
        token: The access token. By default, it is read from the file that AGENT_FEEDBACK_TOKEN_FILE names. Without
            either, callers need tokens of an issuer in AUTH_ISSUERS.

    Raises:
        StartError: If the service cannot start.
    """
    auth = read_settings(AuthSettings)
    traces = open_traces()
    stopping = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, _stop, stopping)
    process = _Process(program, auth, token or content_of("AGENT_FEEDBACK_TOKEN"))
    server = HttpServer(host, port)
    await server.start(process.web)
    starting = asyncio.create_task(_start(program, traces))
    waiting = asyncio.create_task(stopping.wait())
    try:
        await asyncio.wait({starting, waiting}, return_when=asyncio.FIRST_COMPLETED)
        if not starting.done():
            starting.cancel()
            return
        process.serve(starting.result())
        log.info("running", service=program.name, url=f"http://{host}:{server.port}/")
        await waiting
        log.info("stopping", service=program.name)
    finally:
        waiting.cancel()
        await server.stop()
        await process.stop()
        if traces is not None:
            await traces.close()


class _Process:
    """HTTP application of a process whose service may still be starting."""

    def __init__(self, program: ServiceDefinition[Any], auth: AuthSettings, token: str | None) -> None:
        self._name = program.name
        self._service: Service | None = None
        self._remote = remote_keys(auth)
        self._app = application(self._not_ready, lambda: () if self._service is None else self._service.warnings)
        issued = AnyOfLater(lambda: None if self._service is None else self._service.authenticators or self._remote)
        self.web = guarded(
            self._app,
            AnyOf(authenticator_for(auth, token), issued),
            auth.cors_origins,
            read_settings(HttpSettings).request_seconds,
            lambda: self._service is None,
            sign_in_url=auth.sign_in_url,
        )

    def serve(self, service: Service) -> None:
        """Add the routes of the started service."""
        self._service = service
        add_routes(self._app, service.routers)

    async def stop(self) -> None:
        if self._service is not None:
            await self._service.stop()
        for keys in self._remote:
            await keys.close()

    async def _not_ready(self) -> str | None:
        return f"{self._name} is starting" if self._service is None else await self._service.not_ready()


def _stop(stopping: asyncio.Event) -> None:
    """Begin an orderly stop, which may take up to STOP_SECONDS."""
    faulthandler.dump_traceback_later(STOP_SECONDS, exit=True)
    stopping.set()


async def _start(program: ServiceDefinition[Any], traces: Traces | None = None) -> Service:
    """Start the service, retrying while a dependency is unavailable."""
    while True:
        try:
            return await _started(program, traces)
        except Exception as error:
            if not is_transient(error):
                raise
            log.warning("start_waits", service=program.name, error=type(error).__name__)
        await asyncio.sleep(1)


async def _started(program: ServiceDefinition[Any], traces: Traces | None = None) -> Service:
    settings = read_settings(program.settings)
    cluster = cluster_at(settings.broker)
    log.info("starting", service=program.name, broker=str(cluster), database=shown(settings.database_url))
    context = ServiceContext(cluster, say=lambda message: log.info("waiting", what=message), traces=traces)
    service = await program.build(settings, context)
    try:
        await ensure_topics(cluster, create=False, say=context.say)
        await service.start()
    except BaseException:
        await service.stop()
        raise
    tune_gc()
    return service
