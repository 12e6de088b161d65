"""Wrong usage of the command line: one sentence on stderr, exit code 2, nothing on stdout."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from standalone.cli import app as app_module
from standalone.cli.app import app


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            "up --port 99999",
            "Invalid value for '--port': Input should be less than or equal to 65535; see `agent-feedback up --help`.",
        ),
        ("up --replay no/such/file", "There is no file no/such/file."),
        ("evaluate no/such/file", "file 'no/such/file' does not exist; see `agent-feedback evaluate --help`."),
        ("export", "FORMAT'. Choose from: kto, dpo, sft, events, detector; see `agent-feedback export --help`."),
        ("dlq show", "Missing argument 'letter'; see `agent-feedback dlq show --help`."),
        ("up --log-level x", "'x' is not one of 'debug', 'info', 'warning', 'error'; see `agent-feedback up --help`."),
        ("up --nope", "No such option: --nope (Possible options: --now, --token); see `agent-feedback up --help`."),
        ("rejugde", "No such command 'rejugde'. Did you mean 'rejudge'? See `agent-feedback --help`."),
        ("up --port", "Option '--port' requires an argument."),
        ("topics --create", "--create needs --broker: the brokers to create the topics on."),
    ],
)
def test_wrong_usage_is_one_sentence(arguments: str, said: str) -> None:
    ended = CliRunner().invoke(app, arguments.split(), prog_name="agent-feedback")
    assert (ended.exit_code, ended.stdout) == (2, "")
    assert ended.stderr.endswith(f"{said}\n")
    assert ended.stderr.count("\n") == 1


@pytest.mark.parametrize("user", [["--user", ""], ["--user="]])
@pytest.mark.parametrize(
    "command", [["subject-access", "-o", "x.json"], ["erase"], ["export", "kto", "--out", "x.jsonl", "--project", "p"]]
)
def test_an_empty_id_is_refused_before_anything_is_read(command: list[str], user: list[str]) -> None:
    """An unset variable of a shell must not mean every person."""
    ended = CliRunner().invoke(app, [*command, "--tenant", "acme", *user], prog_name="agent-feedback")
    assert (ended.exit_code, ended.stderr) == (2, "The value of --user is empty.\n")


def test_a_group_without_a_command_shows_its_help_only() -> None:
    ended = CliRunner().invoke(app, ["dlq"], prog_name="agent-feedback")
    assert ended.exit_code == 2
    assert "Dead letters: records that could not be processed" in ended.output
    assert ended.stderr == ""


def test_the_help_still_succeeds() -> None:
    ended = CliRunner().invoke(app, ["up", "--help"])
    assert (ended.exit_code, ended.stderr) == (0, "")
    assert "Usage:" in ended.stdout


def test_every_command_is_there() -> None:
    found: Any = typer.main.get_command(app)
    assert " ".join(sorted(found.commands)) == (
        "dlq encoder erase evaluate explain export import keys ledger migrate rejudge run subject-access topics up"
    )
    assert {name: sorted(found.commands[name].commands) for name in ("dlq", "keys", "ledger")} == {
        "dlq": ["list", "replay", "show"],
        "keys": ["add", "list", "renew", "revoke"],
        "ledger": ["rebuild", "republish", "rewind", "verify"],
    }


MODULES = [one for one in vars(app_module).values() if isinstance(one, ModuleType) and hasattr(one, "register")]


@pytest.mark.parametrize("module", MODULES)
def test_each_module_of_a_command_registers_it(module: Any) -> None:
    own = typer.Typer()
    module.register(own)
    found: list[Any] = [*own.registered_commands, *own.registered_groups]
    [registered] = found
    last = module.__name__.rpartition(".")[2]
    assert registered.name == ("import" if last == "import_feedback" else last.replace("_", "-"))
