"""The whole flow in one process."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest_asyncio

from tests.support.running_stack import RunningStack, running_stack


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def stack(postgres_url: str) -> AsyncIterator[RunningStack]:
    """Run all services on empty schemas and an empty log, once per module. Tests use conversations of their own."""
    async with running_stack(postgres_url) as running:
        yield running
