"""Commands that wait for a server: they say why once, and give up with an error of one sentence."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import pytest
import typer

from servicekit.errors import StartError, Unavailable
from standalone import waiting
from standalone.operations.log_access import target_of
from standalone.terminal import instant
from standalone.waiting import once_answered, within

DATABASE = "postgresql://localhost/own"
RUN = {"log": "memory", "broker": "localhost:1", "database": DATABASE, "groups": ["feedback", "inference"]}


class Answers:
    """Server that raises the given errors in turn, then answers."""

    def __init__(self, errors: Sequence[Exception]) -> None:
        self._errors = list(errors)

    async def read(self) -> str:
        if self._errors:
            raise self._errors.pop(0)
        return "up"


@pytest.fixture
def no_pause(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Record the pauses of `once_answered` instead of making them. Other tasks of the event loop keep theirs."""
    pauses: list[float] = []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    monkeypatch.setattr(waiting, "asyncio", SimpleNamespace(sleep=sleep))
    return pauses


@pytest.mark.parametrize("failures", [0, 1, 3])
async def test_the_reason_for_a_wait_is_said_once(failures: int, no_pause: list[float]) -> None:
    said: list[str] = []
    server = Answers([Unavailable("the log", f"reason {number}") for number in range(failures)])
    assert await once_answered(server.read, said.append) == "up"
    assert len(no_pause) == failures
    assert len(said) == min(failures, 1)
    assert all("reason 0" in line for line in said)


async def test_an_error_that_does_not_pass_is_not_waited_for(no_pause: list[float]) -> None:
    with pytest.raises(KeyError):
        await once_answered(Answers([KeyError("x")]).read, print)
    assert no_pause == []


async def test_a_server_that_does_not_answer_is_named() -> None:
    with pytest.raises(StartError, match="Nothing answered at localhost:1 within 0 s: is the address right"):
        await within(0.01, asyncio.Event().wait(), "localhost:1")
    assert await within(None, asyncio.sleep(0, "up"), "localhost:1") == "up"


def test_an_instant_is_in_microseconds_and_another_text_is_refused() -> None:
    assert instant(None) is None
    assert instant("1970-01-01T00:00:01Z") == 1_000_000
    with pytest.raises(typer.BadParameter, match="soon"):
        instant("soon")


def test_a_target_is_the_one_that_was_named_or_that_of_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(StartError, match="Nothing runs on"):
        target_of(None, tmp_path)
    monkeypatch.setenv("FEEDBACK_STORE_URL", "postgresql://localhost/settings")
    named = target_of("localhost:9", tmp_path)
    assert (str(named.bootstrap), named.store_url, named.groups) == (
        "localhost:9",
        "postgresql://localhost/settings",
        (),
    )
    assert target_of("localhost:9", tmp_path, "mongodb://m/db").store_url == "mongodb://m/db"


@pytest.mark.parametrize(("log", "groups"), [("memory", ("feedback", "inference")), ("external", ())])
def test_only_a_log_in_memory_has_readers_to_wait_for(tmp_path: Path, log: str, groups: tuple[str, ...]) -> None:
    (tmp_path / "run.json").write_text(json.dumps(RUN | {"log": log}))
    found = target_of(None, tmp_path)
    assert (str(found.bootstrap), found.store_url, found.groups) == ("localhost:1", DATABASE, groups)
    assert target_of(None, tmp_path, "mongodb://m/db").store_url == "mongodb://m/db"
