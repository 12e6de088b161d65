"""Servers that many tests share, and the folders of what tests build their input with.

The fault harness and the simulation are packages of their own below `tests`, imported by those names.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest_asyncio

from standalone.embedded.postgres import EmbeddedPostgres

sys.path.insert(0, str(Path(__file__).parent / "support"))
sys.path.append(str(Path(__file__).parent))


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def postgres_url() -> AsyncIterator[str]:
    """An embedded PostgreSQL, started once; each service's tests keep to that service's schema in it.

    Its folder is open to other users: as root, PostgreSQL runs as one of them and pytest's own folders shut it out.
    """
    with TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        async with EmbeddedPostgres(Path(folder) / "data") as server:
            yield server.url
