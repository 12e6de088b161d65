"""One service as a process of its own, set by its environment."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable, Mapping

import chat_bridge.main
import feedback.main
import inference.main
import reporting.main
from chat_bridge.settings import ChatBridgeSettings
from feedback.settings import FeedbackSettings
from inference.settings import InferenceSettings
from reporting.settings import ReportingSettings
from servicekit.collector import look_seldom
from servicekit.http import HttpServer
from servicekit.logging import logger
from servicekit.service import Service, Surroundings
from servicekit.topics import ensure_topics
from standalone.access import auth_settings, authenticator_for
from standalone.faults import VARIABLE, faults_named
from standalone.web import application, guarded

log = logger("run")
Build = Callable[[Callable[[str], None]], Awaitable[Service]]


def _around(broker: str, say: Callable[[str], None]) -> Surroundings:
    return faults_named(os.environ.get(VARIABLE)).surround(Surroundings(broker, say=say))


async def _chat_bridge(say: Callable[[str], None]) -> Service:
    settings = ChatBridgeSettings()
    await ensure_topics(settings.broker, create=False, say=say)
    return await chat_bridge.main.build(settings, _around(settings.broker, say))


async def _feedback(say: Callable[[str], None]) -> Service:
    settings = FeedbackSettings()
    await ensure_topics(settings.broker, create=False, say=say)
    return await feedback.main.build(settings, _around(settings.broker, say))


async def _inference(say: Callable[[str], None]) -> Service:
    settings = InferenceSettings()
    await ensure_topics(settings.broker, create=False, say=say)
    return await inference.main.build(settings, _around(settings.broker, say))


async def _reporting(say: Callable[[str], None]) -> Service:
    settings = ReportingSettings()
    await ensure_topics(settings.broker, create=False, say=say)
    return await reporting.main.build(settings, _around(settings.broker, say))


SERVICES: Mapping[str, Build] = {
    "chat_bridge": _chat_bridge,
    "feedback": _feedback,
    "inference": _inference,
    "reporting": _reporting,
}


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
    service = await SERVICES[name](lambda message: log.info("waiting", what=message))
    faults_named(os.environ.get(VARIABLE)).arm(service)
    await service.start()
    look_seldom()
    return service
