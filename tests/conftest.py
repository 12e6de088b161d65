"""Servers that many tests share, and the folders of what tests build their input with.

The fault harness and the simulation are packages of their own below `tests`, imported by those names.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import asyncpg
import pytest
import pytest_asyncio
import structlog
from hypothesis import HealthCheck, settings

from reporting.handlers import ProjectionHandler
from reporting.store_postgres import PostgresReadModels
from standalone.embedded import postgres
from standalone.embedded.postgres import EmbeddedPostgres

sys.path.insert(0, str(Path(__file__).parent / "support"))
sys.path.append(str(Path(__file__).parent))

from assertion_last import pytest_runtest_makereport  # noqa: F401 # pytest calls it
from reporting_database import empty_read_models
from reporting_events import batch
from server_folders import server_folder

# How long an example takes says how busy the machine is; where CI is set, the rest stays as Hypothesis has it there.
settings.register_profile("untimed", settings.default, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")


UNSAFE_WRITES = ("fsync", "full_page_writes", "synchronous_commit")
"""Settings of PostgreSQL that only matter to data that outlive the machine's power."""


@pytest.fixture(autouse=True)
def unconfigured_logging(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Undo a test's configuration of logging: a logger that kept it would write to a standard error that is closed."""
    real = structlog.configure
    monkeypatch.setattr(structlog, "configure", lambda **given: real(**given | {"cache_logger_on_first_use": False}))
    yield
    structlog.reset_defaults()


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def postgres_url() -> AsyncIterator[str]:
    """An embedded PostgreSQL, started once; each service's tests keep to that service's schema in it."""
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
    """A database of the test's own, for what would leave the schemas that a module's tests share in another state."""
    name = f"own_{uuid4().hex}"
    connection = await asyncpg.connect(postgres_url)
    try:
        await connection.execute(f"create database {name}")
        yield urlsplit(postgres_url)._replace(path=f"/{name}").geturl()
        await connection.execute(f"drop database {name} with (force)")
    finally:
        await connection.close()


@pytest.fixture
async def read_models(postgres_url: str) -> AsyncIterator[asyncpg.Pool]:
    """A pool in reporting's schema, made anew."""
    async with empty_read_models(postgres_url) as opened:
        yield opened


@pytest.fixture
def take(read_models: asyncpg.Pool) -> Callable[..., Awaitable[None]]:
    """Has the read models take in events as one batch."""
    projector = ProjectionHandler(PostgresReadModels(read_models))

    async def taken(*events: Any) -> None:
        await projector.handle(batch(*events))

    return taken
