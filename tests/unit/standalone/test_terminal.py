"""User text can neither control a terminal nor break the line that quotes it."""

from __future__ import annotations

import asyncio
import json
import signal
from collections.abc import Iterator
from pathlib import Path

import asyncpg
import pytest
import typer
from typer.testing import CliRunner

from servicekit.errors import StartError, Unavailable
from standalone.cli.app import app
from standalone.operations.log_access import target_of
from standalone.terminal import INTERRUPTED, harmless, instant, run, say, sentence, show
from standalone.waiting import within
from tests.support.command import HANG_SECONDS

HOSTILE = "Key('[/red]'): \x1b[2J\x07\x9b1m\x7fgone\r\nsecond line\t👩‍💻"


def test_both_ways_out_take_nothing_for_a_command(capsys: pytest.CaptureFixture[str]) -> None:
    say(HOSTILE, "red")
    show(HOSTILE)
    found = capsys.readouterr()
    assert found.out.replace(" ", "") == found.err.replace(" ", "")
    assert "[/red]" in found.out and not set("\x1b\x07\x9b\x7f\r") & set(found.out + found.err)


def test_a_line_is_not_broken_at_the_width_of_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    """Else a path or a link could not be copied."""
    line = "https://feedback.example.org/" + "a/path of words " * 40
    say(line, "red")
    show(line)
    found = capsys.readouterr()
    assert (found.out, found.err) == (f"{line}\n", f"{line}\n")


def test_a_sentence_ends_in_one_full_stop() -> None:
    assert sentence(ValueError("401: A token is needed.")) == "401: A token is needed."
    assert sentence(ValueError("no answer")) == "no answer."


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (asyncpg.ConnectionDoesNotExistError("closed"), "the database cannot be reached"),
        (Unavailable("the feedback store", "it is slow"), "the feedback store is not available: it is slow"),
    ],
)
def test_a_restart_of_a_dependency_ends_in_a_sentence(
    error: Exception, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    async def work() -> None:
        raise error

    with pytest.raises(typer.Exit) as ended:
        run(work())
    assert ended.value.exit_code == 1
    assert capsys.readouterr().err == (
        f"The database or the log stopped answering ({words}). Run the same command again.\n"
    )


def test_a_database_whose_socket_is_gone_ends_in_a_sentence_and_a_missing_file_does_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async def read() -> None:
        (tmp_path / "file").read_text("utf-8")

    with pytest.raises(typer.Exit) as ended:
        run(asyncpg.connect(f"postgresql:///postgres?host={tmp_path}"))
    assert ended.value.exit_code == 1
    assert "the database cannot be reached" in capsys.readouterr().err
    with pytest.raises(FileNotFoundError):
        run(read())


@pytest.fixture
def sigint_interrupts() -> Iterator[None]:
    """Let SIGINT raise KeyboardInterrupt: a shell starts background processes, such as a run of tests, without it."""
    former = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, former)


@pytest.mark.usefixtures("sigint_interrupts")
@pytest.mark.parametrize("error", [TimeoutError(), StartError("no database")])
def test_an_error_while_an_interruption_ends_the_work_is_not_reported(
    error: Exception, capsys: pytest.CaptureFixture[str]
) -> None:
    async def fails_at_the_end() -> None:
        try:
            signal.raise_signal(signal.SIGINT)
            async with asyncio.timeout(HANG_SECONDS):
                await asyncio.Event().wait()
        finally:
            raise error

    with pytest.raises(typer.Exit) as ended:
        run(fails_at_the_end())
    assert ended.value.exit_code == INTERRUPTED
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("character", "is_replaced"),
    [
        ("\t", False), ("\n", False), (" ", False), ("~", False), ("\xa0", False), ("\ud7ff", False), ("\ue000", False),
        ("\x00", True), ("\x08", True), ("\x0b", True), ("\x1f", True), ("\x7f", True), ("\x80", True), ("\x9f", True),
        ("\ud800", True), ("\udfff", True),
    ],
)  # fmt: skip
def test_the_characters_that_are_replaced(character: str, is_replaced: bool) -> None:
    assert harmless(character).plain == ("\N{REPLACEMENT CHARACTER}" if is_replaced else character)


# Wrong usage of the command line: one sentence on stderr, exit code 2, nothing on stdout.


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            "up --port 99999",
            "Invalid value for '--port': Input should be less than or equal to 65535; see `agent-feedback up --help`.",
        ),
        (
            "export --out x --url http://service --token secret",
            "without --manifest, FORMAT, --tenant and --project are required.",
        ),
        ("up --nope", "No such option: --nope (Possible options: --now); see `agent-feedback up --help`."),
        ("rejugde", "No such command 'rejugde'. Did you mean 'rejudge'? See `agent-feedback --help`."),
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


# Commands that wait for a server: they say why once, and give up with an error of one sentence.

DATABASE = "postgresql://localhost/own"


RUN = {"log": "memory", "broker": "localhost:1", "database": DATABASE, "groups": ["feedback", "inference"]}


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
