"""One service as a process of its own, set by its environment."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from pydantic import ValidationError

import chat_bridge.main
import feedback.main
import inference.main
import reporting.main
from chat_bridge.settings import ChatBridgeSettings
from feedback.settings import FeedbackSettings
from inference.settings import InferenceSettings
from reporting.settings import ReportingSettings
from servicekit.collector import look_seldom
from servicekit.failures import StartError, is_transient
from servicekit.http import HttpServer
from servicekit.logging import logger
from servicekit.refusals import sentence
from servicekit.service import Service, Surroundings
from servicekit.topics import ensure_topics
from standalone.access import auth_settings, authenticator_for
from standalone.faults import VARIABLE, faults_named
from standalone.web import application, guarded

log = logger("run")
Build = Callable[[Any, Surroundings], Awaitable[Service]]
SERVICES: Mapping[str, tuple[type[Any], Build]] = {
    "chat_bridge": (ChatBridgeSettings, chat_bridge.main.build),
    "feedback": (FeedbackSettings, feedback.main.build),
    "inference": (InferenceSettings, inference.main.build),
    "reporting": (ReportingSettings, reporting.main.build),
}
"""Each service's settings, and what builds it from them."""


async def run_service(name: str, host: str, port: int, token: str | None) -> None:
    """Run until SIGINT or SIGTERM; stops within 20 s of one. `token` None: callers bring tokens of AUTH_ISSUER."""
    auth = auth_settings()
    authenticator = authenticator_for(auth, token)
    stopping = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stopping.set)
    service: Service | None = None

    async def not_ready() -> str | None:
        return f"{name} is starting" if service is None else await service.not_ready()

    server = HttpServer(host, port)
    app = application(authenticator, not_ready)
    await server.start(guarded(app, authenticator, auth.cors_origins))
    starting = asyncio.create_task(_start(name))
    waiting = asyncio.create_task(stopping.wait())
    try:
        await asyncio.wait({starting, waiting}, return_when=asyncio.FIRST_COMPLETED)
        if not starting.done():
            starting.cancel()
            return
        service = starting.result()
        for router in service.routers:
            app.include_router(router)
        log.info("running", service=name, port=server.port)
        await waiting
        log.info("stopping", service=name)
    finally:
        waiting.cancel()
        await server.stop()
        if service is not None:
            await service.stop()


async def _start(name: str) -> Service:
    """The service, started; what it depends on may go away again while it starts."""
    while True:
        try:
            return await _started(name)
        except Exception as error:
            if not is_transient(error):
                raise
            log.warning("start_waits", service=name, error=type(error).__name__)
        await asyncio.sleep(1)


async def _started(name: str) -> Service:
    settings_type, build = SERVICES[name]
    try:
        settings = settings_type()
    except ValidationError as error:
        faults = error.errors(include_url=False, include_context=False, include_input=False)
        raise StartError(f"The settings of {name} are not sound: {sentence(faults)}.") from None
    arranged = faults_named(os.environ.get(VARIABLE))
    surroundings = Surroundings(settings.broker, say=lambda message: log.info("waiting", what=message))
    await ensure_topics(settings.broker, create=False, say=surroundings.say)
    service = await build(settings, arranged.surround(surroundings))
    arranged.arm(service)
    try:
        await service.start()
    except BaseException:
        await service.stop()
        raise
    look_seldom()
    return service
