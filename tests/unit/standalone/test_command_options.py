"""Options of the commands: their defaults, and the values that reach the work of a command."""

from __future__ import annotations

import json
from collections.abc import Coroutine, Iterator
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import httpx
import pytest
import typer
from typer.testing import CliRunner

from standalone import terminal
from standalone.cli.app import app
from standalone.one_process.up import Options
from standalone.terminal import INTERRUPTED
from tests.support.command import Ended, agent_feedback_here


def commands() -> Iterator[tuple[str, Any]]:
    """Yield the name and the definition of every command."""
    root: Any = typer.main.get_command(app)
    for name, one in root.commands.items():
        yield from ((f"{name} {sub}", each) for sub, each in getattr(one, "commands", {"": one}).items())


def test_every_flag_is_off_unless_it_is_given() -> None:
    flags = {
        (name.strip(), one.opts[-1]): one.default
        for name, command in commands()
        for one in command.params
        if getattr(one, "is_flag", False)
    }
    assert len(flags) > 30
    assert {flag for flag, default in flags.items() if default} == set()


def test_numbers_have_the_documented_defaults() -> None:
    numbers = {
        (name.strip(), one.opts[-1]): one.default
        for name, command in commands()
        for one in command.params
        if isinstance(one.default, int | float) and not isinstance(one.default, bool)
    }
    assert numbers == {
        ("run", "--port"): 8080,
        ("chat", "--model-seconds"): 60,
        ("chat", "--planning-seconds"): 1,
        ("explain", "--errors"): 0,
        ("evaluate", "--errors"): 0,
        ("erase", "--wait"): 30,
        ("keys add", "--days"): 365,
        ("sizing", "--peak"): 4,
        ("sizing", "--days"): 180,
    }


@pytest.mark.parametrize(
    ("command", "option", "least", "most"),
    [
        ("run feedback", "--port", "0", "65535"), ("up", "--port", "0", "65535"),
        ("topics --create --broker h:1", "--partitions", "1", "10000"),
        ("topics --create --broker h:1", "--replication", "1", None),
        ("chat", "--model-seconds", "1", "600"), ("chat", "--planning-seconds", "0.1", "60"),
        ("erase --tenant a --status r", "--wait", "0", None),
        ("sizing", "--events", "1", "1000000000000"), ("sizing --events 5", "--peak", "1", "1000"),
        ("sizing --events 5", "--days", "1", "36500"),
        ("export kto --out x --tenant a --project b", "--min-confidence", "0", "1"),
        ("explain x", "--errors", "0", None), (f"evaluate {__file__}", "--errors", "0", None),
        (f"evaluate {__file__}", "--target-precision", "0.7", "1"),
    ],
)  # fmt: skip
def test_a_number_out_of_its_range_is_refused(command: str, option: str, least: str, most: str | None) -> None:
    root: Any = typer.main.get_command(app)
    name, *given = command.split()
    for value, is_taken in ((least, True), (most, True), (f"-{least}1", False), (most and f"{most}0", False)):
        if value is None:
            continue
        try:
            root.commands[name].make_context(name, [*given, option, value], resilient_parsing=False)
        except typer.TyperException as error:
            assert (is_taken, option in error.format_message()) == (False, True), value
        else:
            assert is_taken, value


def test_the_version_is_printed_and_nothing_else() -> None:
    shown = CliRunner().invoke(app, ["--version", "up", "--exit"])
    assert (shown.exit_code, shown.output) == (0, f"agent-feedback {version('agent-feedback')}\n")


@pytest.mark.parametrize("command", [[], ["dlq"], ["keys"], ["users"]])
def test_without_a_command_the_help_is_shown(command: list[str]) -> None:
    shown = CliRunner().invoke(app, command)
    assert shown.exit_code == 2
    assert "Usage:" in shown.output and "--help" in shown.output


def test_a_program_that_calls_the_commands_gets_results_and_errors() -> None:
    found: Any = typer.main.get_command(app)
    assert found.main(["sizing", "--events", "5", "--json"], standalone_mode=False) is None
    with pytest.raises(typer.TyperException):
        found.main(["sizing"], standalone_mode=False)
    with pytest.raises(SystemExit) as ended:
        found.main(["sizing"])
    assert ended.value.code == 2


class Up:
    """Run of `up` that ends with these facts."""

    def __init__(self, facts: dict[str, Any] | None) -> None:
        self._facts = facts
        self.options: list[Options] = []
        self.said: list[str] = []

    async def __call__(self, options: Options, _: object, say: Any) -> dict[str, Any] | None:
        self.options.append(options)
        say("Ready")
        return self._facts


@pytest.fixture
def up(monkeypatch: pytest.MonkeyPatch) -> Up:
    found = Up({"replayed": {"rejected": []}})
    monkeypatch.setattr("standalone.one_process.up.up", found)
    monkeypatch.delenv("AGENT_FEEDBACK_TOKEN", raising=False)
    return found


@pytest.mark.parametrize(
    ("given", "port"), [([], 8080), (["--exit"], 0), (["--port", "7"], 7), (["--exit", "--port", "7"], 7)]
)
def test_up_serves_on_port_8080_and_a_batch_on_a_free_port(up: Up, given: list[str], port: int) -> None:
    ended = agent_feedback_here("up", *given)
    assert (ended.code, ended.out, ended.err) == (0, "", "Ready\n")
    assert up.options[0].port == port


def test_up_has_these_defaults(up: Up) -> None:
    agent_feedback_here("up")
    assert up.options == [
        Options(
            replay=[], sample=False, exit=False, json=False, host="127.0.0.1", port=8080, state=Path(".agent-feedback"),
            token=None, broker="memory", judge_at=None, outcomes=None, database_url=None,
        )
    ]  # fmt: skip


def test_up_passes_its_options_on(up: Up, tmp_path: Path) -> None:
    file = tmp_path / "events"
    file.write_text("x")
    ended = agent_feedback_here(
        *("up", "--replay", file, "--replay", file, "--sample", "--exit", "--json", "--host", "::1", "--port", "9"),
        *("--state", "s", "--token", "t", "--broker", "local", "--now", "1970-01-01T00:00:01Z"),
        *("--outcomes", "o", "--fates", "f", "--database", "d"),
    )
    assert (ended.code, ended.err) == (0, ""), "with --json it says nothing"
    assert up.options == [
        Options([file, file], True, True, True, "::1", 9, Path("s"), "t", "local", 1_000_000, Path("o"), "d")
    ]
    agent_feedback_here("up", "--fates", "f")
    assert up.options[1].outcomes == Path("f"), "the name in version 0.1.0"


def test_up_listens_on_this_machine_only(up: Up) -> None:
    refused = agent_feedback_here("up", "--host", "0.0.0.0")  # refused
    assert (refused.code, up.options) == (2, [])
    assert refused.err.startswith("Only loopback addresses: ")
    for host in ("localhost", "::1", "127.0.0.1"):
        assert agent_feedback_here("up", "--host", host).code == 0


def test_up_names_the_first_rejected_lines(up: Up) -> None:
    rejected = [{"file": "x.jsonl", "line": number, "reason": "not JSON"} for number in range(1, 8)]
    up._facts = {"replayed": {"rejected": rejected}}
    ended = agent_feedback_here("up", "--exit")
    said = [f"x.jsonl line {number} was rejected: not JSON." for number in range(1, 6)]
    assert (ended.code, ended.out, ended.err.splitlines()) == (0, "", ["Ready", *said])
    as_json = agent_feedback_here("up", "--exit", "--json")
    assert (as_json.facts, as_json.err.splitlines()) == (up._facts, said)


def test_a_batch_that_was_stopped_has_failed_and_a_run_that_served_has_not(up: Up) -> None:
    up._facts = None
    batch, served = agent_feedback_here("up", "--exit"), agent_feedback_here("up")
    assert (batch.code, batch.err) == (INTERRUPTED, "Ready\nStopped before all input was processed.\n")
    assert (served.code, served.err) == (0, "Ready\n")


@pytest.mark.parametrize(("content", "said"), [("", True), ("x", False)])
def test_an_empty_file_is_told_and_replayed(up: Up, tmp_path: Path, content: str, said: bool) -> None:
    file = tmp_path / "events.jsonl"
    file.write_text(content)
    ended = agent_feedback_here("up", "--replay", file)
    assert (f"{file} is empty: there is nothing to replay." in ended.err) is said
    assert up.options[0].replay == [file]


def test_what_is_no_file_cannot_be_replayed(tmp_path: Path) -> None:
    ended = agent_feedback_here("replay", tmp_path)
    assert (ended.code, ended.err) == (2, f"{tmp_path} is not a file.\n")


@pytest.mark.parametrize(
    ("options", "variable", "expected"),
    [
        ([], None, ("127.0.0.1", 8080, None)),
        ([], "of-the-file", ("127.0.0.1", 8080, "of-the-file")),
        (["--host", "0.0.0.0", "--port", "7", "--token", "mine"], "of-the-file", ("0.0.0.0", 7, "mine")),
    ],
)
def test_one_service_runs_with_its_settings(
    monkeypatch: pytest.MonkeyPatch, options: list[str], variable: str | None, expected: tuple[Any, ...]
) -> None:
    """The token may be in the file of settings, which is read before the service starts."""
    ran: list[Any] = []

    async def run_program(program: Any, *given: Any) -> None:
        ran.append((program.name, *given))

    def read_env_file() -> None:
        if variable is not None:
            monkeypatch.setenv("AGENT_FEEDBACK_TOKEN", variable)

    monkeypatch.delenv("AGENT_FEEDBACK_TOKEN", raising=False)
    monkeypatch.setattr("servicekit.launcher.run_program", run_program)
    monkeypatch.setattr("servicekit.settings.read_env_file", read_env_file)
    levels: list[Any] = []

    def run_work(work: Coroutine[Any, Any, None], level: str) -> None:
        levels.append(level)
        terminal.run(work, level)

    monkeypatch.setattr("standalone.cli.run.run_work", run_work)
    assert agent_feedback_here("run", "feedback", *options).code == 0
    assert (ran, levels) == ([("feedback", *expected)], ["INFO"])


def test_a_service_that_does_not_exist_is_refused() -> None:
    ended = agent_feedback_here("run", "billing")
    assert (ended.code, ended.err) == (2, "billing is not one of chat_bridge, feedback, inference, reporting.\n")


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ([], {"replication": None, "partitions": 24, "extend": False, "create": False}),
        (["--create"], {"replication": None, "partitions": 24, "extend": False, "create": True}),
        (
            ["--create", "--partitions", "12", "--replication", "2"],
            {"replication": 2, "partitions": 12, "extend": True, "create": True},
        ),
    ],
)
def test_topics_are_checked_or_created_at_a_broker(
    monkeypatch: pytest.MonkeyPatch, options: list[str], expected: dict[str, Any]
) -> None:
    asked: list[Any] = []

    async def ensure_topics(cluster: object, **given: Any) -> None:
        given.pop("say")
        asked.append((str(cluster), given))

    monkeypatch.setattr("servicekit.log.topics.ensure_topics", ensure_topics)
    ended = agent_feedback_here("topics", "--broker", "h:1", *options)
    assert (ended.code, asked) == (0, [("h:1", expected)])
    assert ended.err == "The topics on h:1 are configured as required.\n"


def test_topics_are_listed_as_text_and_as_json() -> None:
    shown = agent_feedback_here("topics").out
    assert "    feedback -> any subscriber\n" in shown
    assert "chat.message.ingested  " in shown
    assert "kept forever, compacted\n" in shown
    assert "days\n" in shown
    assert shown.endswith("Topics are created with 24 partitions by default (--partitions).\n")
    rows = {row["topic"]: row for row in json.loads(agent_feedback_here("topics", "--json").out)}
    created = rows["feedback.created"]
    assert (created["compacted"], created["partitions"], created["dead_letters"]) == (True, 24, "feedback.created.dlq")
    assert json.loads(agent_feedback_here("topics", "--asyncapi").out)["asyncapi"].startswith("3.")
    for wrong, said in (
        (["--create"], "--create needs --broker: the brokers to create the topics on."),
        (["--partitions", "3", "--broker", "h:1"], "--partitions needs --create."),
    ):
        ended = agent_feedback_here("topics", *wrong)
        assert (ended.code, ended.err.strip()) == (2, said)


def test_the_services_are_described_one_or_all() -> None:
    all_ = agent_feedback_here("services").out
    parts = [
        agent_feedback_here("services", name).out for name in ("chat_bridge", "feedback", "inference", "reporting")
    ]
    assert all_ == "".join(parts)
    assert parts[1].startswith("feedback\n\n  reads with the group, handler, topics\n    feedback")
    assert "`" not in all_
    assert agent_feedback_here("services", "billing").code == 2


def exported(out: Path, answer: httpx.Response, *more: str) -> tuple[Ended, list[httpx.Request]]:
    asked: list[httpx.Request] = []

    def respond(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        return answer

    place = ["--tenant", "acme", "--project", "support", "--url", "http://services", "--token", "t0k3n"]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(httpx, "Client", partial(httpx.Client, transport=httpx.MockTransport(respond)))
        return agent_feedback_here("export", "kto", "--out", out, *place, *more), asked


def test_an_export_has_a_manifest(tmp_path: Path) -> None:
    out = tmp_path / "kto.jsonl"
    ended, [request] = exported(out, httpx.Response(200, content=b"{}\n" * 1_200))
    assert (ended.code, ended.out) == (0, "")
    assert ended.err.splitlines()[-1] == (
        f"Wrote 1,200 examples, 3,600 bytes to {out}; kto.jsonl.manifest.json describes them."
    )
    assert str(request.url) == "http://services/conversations/acme/support/exports/kto?file=jsonl"
    assert request.headers["authorization"] == "Bearer t0k3n"
    text = (tmp_path / "kto.jsonl.manifest.json").read_text("utf-8")
    assert text.startswith('{\n  "format": "kto",\n') and text.endswith("}\n")
    manifest = json.loads(text)
    assert (manifest["filters"], manifest["file"], manifest["examples"]) == ({}, "kto.jsonl", 1_200)
    assert manifest["exported_at"].endswith("Z")


def test_filters_of_an_export_reach_the_service_and_the_manifest(tmp_path: Path) -> None:
    filters = {
        "agent_id": "grüße", "agent_version": "2", "model": "m", "reaction": "ok", "feedback_type": "explicit",
        "tag": "t", "user_id": "ann", "conversation_id": "c1", "min_confidence": 0.5, "start": "s", "end": "e",
    }  # fmt: skip
    options = [part for name, value in filters.items() for part in (f"--{name.replace('_', '-')}", str(value))]
    out = tmp_path / "kto.parquet"
    ended, [request] = exported(out, httpx.Response(200, content=b"a\nb"), *options, "--everyone", "--json")
    assert ended.code == 0, ended.err
    asked = {name: str(value) for name, value in filters.items()}
    assert dict(request.url.params) == {**asked, "everyone": "true", "file": "parquet"}
    assert ended.facts["filters"] == {**filters, "everyone": True}
    assert (ended.facts["examples"], ended.facts["bytes"]) == (None, 3), "rows of Parquet are not counted"
    text = (tmp_path / "kto.parquet.manifest.json").read_text("utf-8")
    assert json.loads(text) == ended.facts
    assert "grüße" in text
    shown, _ = exported(out, httpx.Response(200, content=b"ab"))
    assert f"Wrote 2 bytes to {out}" in shown.err


@pytest.mark.parametrize(("more", "is_shown"), [((), True), (("--json",), False)])
def test_the_bytes_of_an_export_are_shown_while_it_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, more: tuple[str, ...], is_shown: bool
) -> None:
    for name, value in (("FORCE_COLOR", "1"), ("TERM", "xterm"), ("COLUMNS", "100")):
        monkeypatch.setenv(name, value)
    ended, _ = exported(tmp_path / "kto.jsonl", httpx.Response(200, content=b"{}\n" * 1_200), *more)
    assert ("Exporting" in ended.err, "3.6/? kB" in ended.err) == (is_shown, is_shown)
    assert "Exporting" not in ended.out
    assert not is_shown or "\x1b[2K" in ended.err, "the line is erased"


def test_an_export_that_is_refused_writes_nothing(tmp_path: Path) -> None:
    out = tmp_path / "kto.jsonl"
    ended, _ = exported(out, httpx.Response(403, json={"detail": "The scope read is missing."}))
    assert (ended.code, [*tmp_path.iterdir()]) == (1, [])
    assert ended.err.strip() == "http://services/ rejects the request with 403: The scope read is missing."
    nowhere, _ = exported(tmp_path / "no" / "kto.jsonl", httpx.Response(200, content=b"{}\n"))
    assert (nowhere.code, nowhere.err.strip()) == (
        1, f"{tmp_path}/no/kto.jsonl cannot be written: No such file or directory."
    )  # fmt: skip


@pytest.mark.parametrize("command", [["services", "reporting"], ["explain", "--rules"]])
def test_lines_of_a_list_are_left_to_the_terminal(command: list[str]) -> None:
    """Else a path or a pattern could not be copied."""
    assert agent_feedback_here(*command, COLUMNS="40").out == agent_feedback_here(*command, COLUMNS="400").out


def test_numbers_of_a_size_have_no_colours() -> None:
    shown = agent_feedback_here("sizing", "--events", "5", FORCE_COLOR="1").out
    assert "\nPartitions per topic: 6\n" in shown
