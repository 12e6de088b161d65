"""User text can neither control a terminal nor break the line that quotes it."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterator

import asyncpg
import pytest
import typer

from servicekit.errors import StartError, Unavailable
from standalone.errors import DependencyLost
from standalone.terminal import INTERRUPTED, NOT_STARTED, harmless, print_json, run, say, sentence, show
from tests.support.command import HANG_SECONDS

HOSTILE = "Key('[/red]'): \x1b[2J\x07\x9b1m\x7fgone\r\nsecond line\t👩‍💻"
SHOWN = "Key('[/red]'): �[2J��1m�gone�\nsecond line\t👩‍💻"


def test_control_characters_are_replaced_and_the_rest_stays() -> None:
    assert harmless(HOSTILE).plain == SHOWN


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
        (asyncpg.AdminShutdownError("terminating"), "the database is being stopped or started"),
        (ConnectionResetError(), "the database cannot be reached"),
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


def test_a_bug_still_shows_its_traceback() -> None:
    async def work() -> None:
        raise FileNotFoundError("template.html")

    with pytest.raises(FileNotFoundError):
        run(work())


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


def test_an_error_without_an_interruption_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    async def fails() -> None:
        raise StartError("no database")

    with pytest.raises(typer.Exit) as ended:
        run(fails())
    assert ended.value.exit_code == NOT_STARTED
    assert "no database" in capsys.readouterr().err


@pytest.fixture
def surroundings(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Return the calls that configure logging and signals before the work."""
    calls: list[object] = []
    monkeypatch.setattr("servicekit.logging.configure_logging", lambda *given, **more: calls.append((*given, more)))
    monkeypatch.setattr("standalone.terminal.raise_again", lambda: calls.append("signals"))
    return calls


@pytest.mark.parametrize(("level", "configured"), [(None, ({"quiet": True},)), ("INFO", ("INFO", {}))])
def test_the_result_is_that_of_the_work(surroundings: list[object], level: str | None, configured: object) -> None:
    async def work() -> int:
        return 7

    assert run(work(), level) == 7
    assert surroundings == [configured, "signals"]


@pytest.mark.usefixtures("surroundings")
def test_a_lost_server_is_one_sentence_and_exit_code_1(capsys: pytest.CaptureFixture[str]) -> None:
    async def work() -> None:
        raise DependencyLost("The broker has not answered.")

    with pytest.raises(typer.Exit) as ended:
        run(work())
    assert (ended.value.exit_code, capsys.readouterr()) == (1, ("", "The broker has not answered.\n"))


@pytest.mark.usefixtures("surroundings")
def test_an_unknown_error_is_raised_as_it_is() -> None:
    async def work() -> None:
        raise KeyError("a bug")

    with pytest.raises(KeyError, match="a bug"):
        run(work())


def test_json_is_one_line_of_readable_text(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"said": "grüße\n"})
    assert capsys.readouterr().out == '{"said": "grüße\\n"}\n'


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


def test_a_style_is_applied_to_the_text() -> None:
    assert harmless("text", "red").style == "red"
