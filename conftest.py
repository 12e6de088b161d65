"""Servers that the tests below `tests` and `proofs` share."""

from __future__ import annotations

import os
import signal
import ssl
from collections.abc import AsyncIterator, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import asyncpg
import httpx
import pytest
import pytest_asyncio
import structlog
from hypothesis import HealthCheck, settings

from reporting.read_models.handlers import ProjectionHandler
from reporting.read_models.store_postgres import PostgresReadModels
from standalone.embedded import postgres
from standalone.embedded.postgres import EmbeddedPostgres
from tests.support.databases import new_database, server_folder
from tests.support.reporting_database import empty_read_models
from tests.support.reporting_events import Event, Take, batch

# Durations depend on the machine's load, so no deadline; everything else is Hypothesis's default.
settings.register_profile("untimed", settings.default, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")


def pytest_configure() -> None:
    """Stop ignoring SIGINT, as a shell lets programs in the background do: commands under test would inherit it."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


UNSAFE_WRITES = ("fsync", "full_page_writes", "synchronous_commit")
"""Settings of PostgreSQL that only matter after a power failure."""


@pytest.fixture(autouse=True)
def unconfigured_logging(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Undo a test's configuration of logging: a logger that kept it would write to a closed standard error."""
    real = structlog.configure
    monkeypatch.setattr(structlog, "configure", lambda **given: real(**given | {"cache_logger_on_first_use": False}))
    yield
    structlog.reset_defaults()


@pytest.fixture(scope="session", autouse=True)
def cached_certificates() -> Iterator[None]:
    """Load the trusted certificates once, not for each HTTP client, which takes 45 ms."""

    @lru_cache
    def loaded(given: tuple[Any, ...], options: tuple[tuple[str, Any], ...], *_: str | None) -> ssl.SSLContext:
        return httpx.create_ssl_context(*given, **dict(options))

    def cached(*given: Any, **options: Any) -> ssl.SSLContext:
        paths = (os.environ.get(name) for name in ("SSL_CERT_FILE", "SSL_CERT_DIR"))
        return loaded(given, tuple(options.items()), *paths)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("httpx._transports.default.create_ssl_context", cached)
        yield


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def postgres_url() -> AsyncIterator[str]:
    """Yield an embedded PostgreSQL, started once; the tests of a service use its schema."""
    with server_folder() as folder:
        server = EmbeddedPostgres(Path(folder) / "data")
        with pytest.MonkeyPatch.context() as patched:
            for name in UNSAFE_WRITES:
                patched.setitem(postgres._SETTINGS, name, "off")
            await server.start()
        try:
            yield server.url
        finally:
            await server.stop()


@pytest.fixture
async def own_database(postgres_url: str) -> AsyncIterator[str]:
    """Yield an empty database for one test."""
    async with new_database(postgres_url) as url:
        yield url


@pytest.fixture
async def read_models(postgres_url: str) -> AsyncIterator[asyncpg.Pool]:
    """Yield a pool in a new database with reporting's schema."""
    async with empty_read_models(postgres_url) as opened:
        yield opened


@pytest.fixture
def take(read_models: asyncpg.Pool) -> Take:
    """Return a function that writes events to the read models as one batch."""
    projector = ProjectionHandler(PostgresReadModels(read_models))

    async def taken(*events: Event) -> None:
        await projector.handle(batch(*events))

    return taken
