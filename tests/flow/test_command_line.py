"""Errors at the command line: one sentence, a defined exit code, no lost data."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
from asyncio.subprocess import PIPE
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx
import pytest

from tests.support.command import (
    COMMAND,
    HANG_SECONDS,
    Ended,
    agent_feedback,
    agent_feedback_here,
    children_of,
    is_postgres,
    line_with,
    serving,
    state_folder,
)
from tests.support.databases import server_folder
from tests.support.waits import PATIENCE_SECONDS

GOOD = {
    "topic": "chat.message.ingested",
    "eventId": "event-1",
    "occurredAt": "2026-01-01T10:00:00Z",
    "tenant": "acme",
    "project": "support",
    "messageId": "message-1",
    "conversationId": "conversation-1",
    "senderId": "bot",
    "senderType": "agent",
    "agentId": "bot",
    "content": "It opens at nine.",
}


def test_a_port_in_use() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with server_folder() as folder:
            ended = agent_feedback_here("up", "--exit", "--json", "--port", str(port), "--state", f"{folder}/state")
            assert not Path(folder, "state", "postgres").exists(), "the port is checked before anything is started"
    assert ended.code == 3
    assert ended.out == ""
    another = "choose another with --port (with make run: PORT=…)"
    assert ended.err.strip() == f"Port {port} on 127.0.0.1 is in use: {another}."


async def test_the_outcomes_of_a_run_name_the_bad_lines(tmp_path: Path) -> None:
    """The lines are named by field and rule, without any text."""
    file, outcomes = tmp_path / "mixed.jsonl", tmp_path / "outcomes.jsonl"
    events: list[dict[str, Any]] = [
        GOOD,
        {**GOOD, "eventId": "event-2", "senderType": "a secret"},
        {name: value for name, value in GOOD.items() if name != "messageId"},
        {**GOOD, "eventId": "event-4", "anything": "an unknown field is ignored"},
    ]
    twice = '{"tenant": "globex", ' + json.dumps(GOOD)[1:]
    file.write_text("\n".join([*map(json.dumps, events), "a secret", twice]))
    ended = await agent_feedback(
        "up", "--replay", file, "--exit", "--json", "--outcomes", outcomes, "--state", tmp_path / "state"
    )
    rows = [json.loads(line) for line in outcomes.read_text("utf-8").splitlines()]
    assert (ended.code, ended.facts["replayed"]["lines"], ended.facts["replayed"]["events"]) == (0, 6, 5)
    broken = [(row["line"], row["reason"], row.get("detail")) for row in rows if row["fate"] == "bad"]
    assert broken == [
        (2, "invalid_event", "senderType: input should be 'human', 'agent' or 'system'"),
        (3, "invalid_event", "messageId: field required"),
        (5, "not JSON", None),
        (6, "repeated_key", "a name stands twice in the object"),
    ]
    assert "secret" not in ended.out + ended.err


@pytest.mark.parametrize(
    ("batch", "ends_by", "code"), [((), signal.SIGTERM, 0), (("--exit",), signal.SIGINT, 130)], ids=["serving", "batch"]
)
async def test_a_broker_that_does_not_answer_is_waited_for(
    batch: list[str], ends_by: signal.Signals, code: int
) -> None:
    """A batch job that is interrupted meanwhile has failed; a run that serves has ended normally."""
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        async with state_folder() as state:
            process = await asyncio.create_subprocess_exec(
                COMMAND,
                *("up", "--port", "0", "--state", str(state), "--broker", address, *batch),
                stderr=asyncio.subprocess.PIPE,
            )
            assert process.stderr is not None
            async with asyncio.timeout(HANG_SECONDS):
                while f"Waiting for the broker at {address}" not in (await process.stderr.readline()).decode():
                    assert process.returncode is None
            process.send_signal(ends_by)
            async with asyncio.timeout(PATIENCE_SECONDS):
                said = (await process.communicate())[1].decode()
    assert process.returncode == code
    assert ("Stopped before all input was processed." in said) == bool(batch)


@pytest.mark.parametrize(
    ("command", "dead"),
    [
        (("up", "--exit"), "--broker"),
        (("up", "--exit"), "--database"),
        (("ledger", "rewind", "--to", "earliest"), "--broker"),
    ],
)
def test_a_batch_gives_up_on_what_does_not_answer(
    command: tuple[str, ...], dead: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A service waits without limit. A batch job says what it waits for, then that it gives up, and ends."""
    for module in ("one_process.options", "operations.log_access"):
        monkeypatch.setattr(f"standalone.{module}.ANSWER_SECONDS", 3.0)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        at = f"127.0.0.1:{silent.getsockname()[1]}"
        given, shown = (at, at) if dead == "--broker" else (f"postgresql://me:secret@{at}/db", f"postgresql://{at}/db")
        with server_folder() as one, server_folder() as other:
            ended = agent_feedback_here(*command, "--state", f"{one}/state", dead, given)
            as_json = agent_feedback_here(*command, "--json", "--state", f"{other}/state", dead, given)
    given_up = f"Nothing answered at {shown} within 3 s: is the address right?"
    assert (ended.code, as_json.code) == (3, 3), ended.err
    assert f"Waiting for the {dead.removeprefix('--')} at {shown}" in ended.err
    assert ended.err.strip().endswith(given_up)
    assert as_json.out == "" and as_json.err.strip().endswith(given_up)
    assert "secret" not in ended.err


def logged(ended: Ended) -> set[str]:
    """Return the levels of the log lines."""
    return {json.loads(line)["level"] for line in ended.err.splitlines() if line.startswith("{")}


async def test_a_log_that_begins_anew_beside_a_store_that_stays_is_told(tmp_path: Path) -> None:
    file = tmp_path / "events.jsonl"
    thumb = {name: GOOD[name] for name in ("tenant", "project", "messageId", "conversationId", "occurredAt")}
    thumb |= {"topic": "chat.message.reaction.ingested", "eventId": "event-2", "userId": "ann", "userType": "human"}
    file.write_text("\n".join(map(json.dumps, (GOOD, thumb | {"emoji": "\N{THUMBS UP SIGN}"}))))
    told = "has none of the store's 1 feedback records: `agent-feedback ledger republish` announces them again."
    async with state_folder() as state:
        first = await agent_feedback("up", "--exit", "--state", state, "--replay", file)
        file.write_text("")
        second = await agent_feedback("up", "--exit", "--state", state, "--replay", file)
    assert (first.code, second.code) == (0, 0), second.err
    assert f"Nothing was replayed: {file} is empty." in second.err
    assert "Outcome" in first.out and not second.out, "no table of zeros"
    assert "chat events published" in first.out
    assert "http://" not in first.out, "the page of a run that has ended"
    assert told not in first.err
    assert logged(first) == set()
    assert told in second.err


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="children are looked up in /proc")
async def test_a_second_ctrl_c_ends_a_stop_that_waits_for_a_frozen_database() -> None:
    async with state_folder() as state:
        process = await asyncio.create_subprocess_exec(
            COMMAND, "up", "--port", "0", "--state", str(state), stderr=asyncio.subprocess.PIPE
        )
        assert process.stderr is not None
        frozen: list[int] = []
        try:
            async with asyncio.timeout(HANG_SECONDS):
                await line_with(process.stderr, "Serving")
                frozen = [pid for pid in children_of(process.pid) if is_postgres(pid)]
                assert frozen
                for pid in frozen:
                    os.kill(pid, signal.SIGSTOP)
                process.send_signal(signal.SIGINT)
                await line_with(process.stderr, "Stopping ... (press Ctrl-C again to end at once)")
                process.send_signal(signal.SIGINT)
                assert "Ended at once." in (await process.communicate())[1].decode()
        finally:
            for pid in frozen:
                os.kill(pid, signal.SIGCONT)
    assert process.returncode == 130


async def test_serving_needs_the_token_and_survives_wrong_requests_until_a_stop_signal() -> None:
    async with state_folder() as state:
        async with serving(state, AGENT_FEEDBACK_TOKEN="let-me-in-please") as (url, token):
            assert token == "let-me-in-please"
            second = await agent_feedback("up", "--exit", "--json", "--port", "0", "--state", state)
            assert second.code == 3
            assert "is in use by another run (process" in second.err
            async with httpx.AsyncClient(base_url=url, trust_env=False) as client:
                assert (await client.get("/health/ready")).status_code == 200
                for path in ("/metrics", "/dashboard/feedback"):
                    assert (await client.get(path)).status_code == 401, path
                client.headers["Authorization"] = "Bearer wrong"
                assert (await client.get("/metrics")).status_code == 401
                client.headers["Authorization"] = f"Bearer {token}"
                assert (await client.get("/metrics")).status_code == 200
                query = "/conversations/acme/support/feedback/conversations-in-period"
                assert (await client.post(query, content=b"x" * 70_000)).status_code == 413
                refused = await client.post(query, content=b"plain", headers={"Content-Type": "text/plain"})
                assert refused.status_code in (400, 415, 422)
                assert refused.headers["content-type"].startswith("application/json")
                assert (await client.get("/health/ready")).status_code == 200
        assert not (state / "run.json").exists()


@pytest.mark.parametrize("options", [("--sample",), ()], ids=["with the sample", "alone"])
def test_a_state_folder_that_cannot_be_made(tmp_path: Path, options: tuple[str, ...]) -> None:
    file = tmp_path / "file"
    file.touch()
    ended = agent_feedback_here("up", "--exit", "--json", "--state", file / "state", *options)
    assert (ended.code, ended.out) == (3, "")
    assert ended.err.strip() == f"The state folder {file / 'state'} cannot be used: Not a directory."


@contextmanager
def disk_of(size: str) -> Iterator[Path]:
    """Yield a folder on a disk of that size, accessible to PostgreSQL's own user."""
    with TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        options = ("-t", "tmpfs", "-o", f"size={size},mode=755", "tmpfs")
        if (
            os.geteuid() != 0
            or subprocess.run(["mount", *options, folder], capture_output=True, check=False).returncode
        ):
            pytest.skip("only a root that may mount can fill a disk of its own")
        try:
            yield Path(folder)
        finally:
            subprocess.run(["umount", folder], check=True)


@pytest.mark.parametrize("size", ["4k", "20m"], ids=["no room for the sample", "no room for a database"])
def test_a_full_disk(size: str) -> None:
    with disk_of(size) as disk:
        ended = agent_feedback_here("up", "--sample", "--exit", "--json", "--state", disk / "state")
    assert (ended.code, ended.out) == (3, "")
    [sentence] = ended.err.strip().splitlines()
    assert "No space left on device" in sentence


def test_a_verdict_is_explained_by_its_words() -> None:
    said = agent_feedback_here("explain", "9:40 is too early.", "--previous-assistant", "Booked: the 9:40.")
    assert said.code == 0, said.err
    assert "The answer is rejected" in said.out and "early" in said.out
    nothing = agent_feedback_here("explain", " ")
    assert (nothing.code, nothing.out, nothing.err.strip()) == (2, "", "Give a message.")


def test_a_token_that_could_be_guessed_starts_nothing() -> None:
    with server_folder() as folder:
        ended = agent_feedback_here("up", "--exit", "--state", f"{folder}/state", AGENT_FEEDBACK_TOKEN="x")
    service = agent_feedback_here("run", "feedback", "--port", "0", AGENT_FEEDBACK_TOKEN="x")
    said = (
        "The access token (AGENT_FEEDBACK_TOKEN) is shorter than 16 characters: make one with `openssl rand -hex 24`."
    )
    assert {(one.code, one.err.strip()) for one in (ended, service)} == {(3, said)}


@pytest.mark.parametrize(
    ("address", "said"),
    [
        (
            "mysql://me:secret@host/db",
            "mysql://host/db is not an address of PostgreSQL: it must begin with postgresql://.",
        ),
        (
            "postgresql://me:secret@host:no/db",
            "postgresql://host:no/db is not an address of PostgreSQL: its host or port is invalid.",
        ),
        (
            "postgresql://me:secret@[::1/db",
            "postgresql://[::1/db is not an address of PostgreSQL: its host or port is invalid.",
        ),
    ],
)
def test_what_is_no_address_of_a_database_is_refused_at_once(address: str, said: str) -> None:
    with server_folder() as folder:
        ended = agent_feedback_here("up", "--exit", "--state", f"{folder}/state", "--database", address)
    assert ended.code == 3
    assert ended.err.strip() == said


async def test_the_version() -> None:
    process = await asyncio.create_subprocess_exec(COMMAND, "--version", stdout=PIPE)
    out, _ = await process.communicate()
    assert (process.returncode, out.decode().split()) == (0, ["agent-feedback", metadata.version("agent-feedback")])
