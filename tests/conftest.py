"""Servers that many tests share, and the folder of what tests build their input with."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from servicekit.embedded.postgres import EmbeddedPostgres

sys.path.insert(0, str(Path(__file__).parent / "support"))


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def postgres_url(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[str]:
    """An embedded PostgreSQL, started once; each service's tests keep to that service's schema in it."""
    async with EmbeddedPostgres(tmp_path_factory.mktemp("postgres") / "data") as server:
        yield server.url
