"""Topics are replicated on three brokers, and the services start while the first of them is down."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from servicekit.log.topics import ensure_topics
from tests.support.recovery import Installation, assert_said, events
from tests.support.three_brokers import NODES, ThreeBrokers

pytestmark = [pytest.mark.real, pytest.mark.timeout(400)]


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def brokers(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[ThreeBrokers]:
    async with ThreeBrokers(tmp_path_factory.mktemp("three")) as started:
        yield started


async def test_topics_have_three_replicas_of_which_two_must_acknowledge(brokers: ThreeBrokers) -> None:
    said: list[str] = []
    await ensure_topics(brokers.bootstrap, say=said.append)
    assert not said
    await brokers.in_sync()
    assert all(replicas == set(NODES) for _, replicas, _ in await brokers.partitions())


async def test_all_services_run_on_several_addresses_of_which_the_first_is_down(
    brokers: ThreeBrokers, own_database: str, tmp_path: Path
) -> None:
    lines = events(0, 5)
    place = Installation(tmp_path, brokers, own_database)
    await brokers.nodes[1].stop()
    try:
        await place.process(lines)
    finally:
        await brokers.nodes[1].start()
    await assert_said(own_database, lines)
    assert (await place.command("ledger", "verify"))["first_difference"] is None
    await brokers.in_sync()
