"""A batch run whose broker dies ends with a sentence instead of waiting without end."""

from __future__ import annotations

import asyncio
import json
from asyncio.subprocess import PIPE
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.command import COMMAND, starting, state_folder
from tests.support.local_kafka import LocalKafka

pytestmark = [pytest.mark.real, pytest.mark.timeout(240)]


@pytest.mark.parametrize("lose", [LocalKafka.kill, LocalKafka.pause], ids=["killed", "frozen"])
async def test_a_batch_run_whose_broker_is_lost_ends_with_a_sentence(
    lose: Callable[[LocalKafka], None], tmp_path: Path
) -> None:
    file = tmp_path / "events.jsonl"
    with file.open("w") as lines:
        for number in range(100_000):
            event = {
                "topic": "chat.message.ingested",
                "eventId": f"e{number}",
                "occurredAt": "2026-01-01T10:00:00Z",
                "tenant": "acme",
                "project": "support",
                "messageId": f"m{number}",
                "conversationId": f"c{number % 500}",
                "senderId": "bot",
                "senderType": "agent",
                "agentId": "bot",
                "content": "It opens at nine.",
            }
            lines.write(json.dumps(event) + "\n")
    async with LocalKafka(tmp_path / "kafka") as kafka, state_folder() as state:
        arguments = ("up", "--exit", "--broker", kafka.bootstrap, "--state", str(state), "--replay", str(file))
        process = await asyncio.create_subprocess_exec(COMMAND, *arguments, stdout=PIPE, stderr=PIPE)
        try:
            assert process.stderr is not None
            async with asyncio.timeout(120):
                while b"Ready after" not in (line := await process.stderr.readline()):
                    assert line, "it ended before it was ready"
            lose(kafka)
            async with asyncio.timeout(90):
                out, err = await process.communicate()
        finally:
            kafka.resume()
            if process.returncode is None:
                process.kill()
    last = err.decode().strip().splitlines()[-1]
    assert last == f"The broker at {kafka.bootstrap} has not answered for 20 s: stopped before the end of the input.", (
        err.decode()
    )
    assert (process.returncode, out) == (1, b"")
    assert "Traceback" not in err.decode()


async def test_a_batch_run_whose_broker_is_lost_while_it_starts_ends_with_a_sentence(
    own_database: str, tmp_path: Path
) -> None:
    async with (
        LocalKafka(tmp_path / "kafka") as kafka,
        starting("--exit", "--broker", kafka.bootstrap, database=own_database) as (process, held),
    ):
        kafka.kill()
        await held.close()
        async with asyncio.timeout(90):
            out, err = await process.communicate()
    last = err.decode().strip().splitlines()[-1]
    assert last == f"The broker at {kafka.bootstrap} has not answered for 20 s: the services did not start."
    assert (process.returncode, out) == (3, b"")
    assert "Traceback" not in err.decode()
