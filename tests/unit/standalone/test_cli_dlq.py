"""Output of the log commands without a terminal."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from typer.testing import CliRunner

from servicekit.errors import StartError
from standalone.cli.app import app
from standalone.cli.dlq import UNFOLDED, letters_table
from standalone.operations.log_access import database_answers
from tests.support.command import agent_feedback_here


def letter(detail: str) -> dict[str, Any]:
    return {
        "letter": "chat.message.reaction.ingested.dlq:0:123456",
        "written_at": "2026-11-20T10:00:00.000000Z",
        "reason": "invalid_event",
        "detail": detail,
    }


def test_without_a_terminal_a_letter_is_one_line() -> None:
    detail = "attributes: string should have at most 256 characters"
    out = io.StringIO()
    Console(file=out, width=UNFOLDED).print(letters_table([letter(detail), letter(detail)]))
    lines = out.getvalue().splitlines()
    assert len(lines) == 4
    assert all(detail in line for line in lines[2:])
    assert max(map(len, map(str.rstrip, lines))) < 160


def test_everything_is_sent_again_only_by_saying_so() -> None:
    refused = CliRunner().invoke(app, ["dlq", "replay", "--broker", "127.0.0.1:1"])
    assert refused.exit_code == 2
    assert "--yes" in refused.output


@pytest.mark.parametrize("scheme", ["postgresql", "mongodb"])
async def test_a_store_that_does_not_answer_is_given_up(scheme: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("standalone.operations.log_access.ANSWER_SECONDS", 0.3)
    with pytest.raises(StartError, match=rf"Nothing answered at {scheme}://127\.0\.0\.1:1/db within"):
        await database_answers(f"{scheme}://u:secret@127.0.0.1:1/db")


@pytest.mark.parametrize("command", [["ledger", "rebuild", "--store", "postgresql://127.0.0.1:1/db"], ["keys", "list"]])
def test_a_command_gives_up_on_a_database_that_does_not_answer(
    command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("standalone.operations.log_access.ANSWER_SECONDS", 0.3)
    # Else loggers of later tests would keep this run's closed stderr.
    monkeypatch.setattr("servicekit.logging.configure_logging", lambda **_: None)
    place = ["--database", "postgresql://u:secret@127.0.0.1:1/db", "--state", str(tmp_path)]
    ended = CliRunner().invoke(app, [*command, *place])
    assert ended.exit_code == 3
    assert "Nothing answered at postgresql://127.0.0.1:1/db" in ended.output
    assert "secret" not in ended.output


@pytest.mark.parametrize("command", [["ledger", "rebuild"], ["keys", "list"]], ids=" ".join)
@pytest.mark.parametrize("given", [[], ["--database", "postgresql://127.0.0.1:1/given"]], ids=["none", "another"])
def test_a_command_works_on_the_database_of_the_run_unless_another_is_given(
    command: list[str], given: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("standalone.operations.log_access.ANSWER_SECONDS", 0.01)
    run = {"database": "postgresql://127.0.0.1:1/run", "broker": "127.0.0.1:1", "log": "memory"}
    (tmp_path / "run.json").write_text(json.dumps(run))
    ended = agent_feedback_here(*command, *given, "--state", tmp_path)
    assert ended.code == 3
    at = "given" if given and command[0] != "ledger" else "run"
    assert f"Nothing answered at postgresql://127.0.0.1:1/{at} within" in ended.err
