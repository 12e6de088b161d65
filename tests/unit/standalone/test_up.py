"""A run of `up` with a stack, a database and a log in memory: start, replay, serving and end."""

from __future__ import annotations

import asyncio
import json
import logging
import signal
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from types import MappingProxyType, SimpleNamespace
from typing import Any

import httpx
import pytest
from rich.console import Console

from feedback.store import Totals
from servicekit.errors import StartError
from servicekit.log.cluster import Cluster
from servicekit.log.outcome import Observation, Outcome
from servicekit.web.auth import Caller
from servicekit.web.server import HttpServer
from standalone.embedded.backpressure_producer import BackpressureProducer
from standalone.embedded.ports import free_port
from standalone.errors import DependencyLost
from standalone.one_process import outage_watch, up
from standalone.one_process.outage_watch import Dependency
from standalone.one_process.up import Options
from standalone.state import StateFolder
from standalone.terminal import INTERRUPTED
from tests.support.logs import RecordingLog
from tests.support.waits import PATIENCE_SECONDS

TOKEN = "a-token-of-24-characters"
REPORT = dict.fromkeys(("conversations", "total", "ok", "not_ok", "neutral", "user", "machine"), 0)
EVENT = {"topic": "chat.message.ingested", "tenant": "acme", "project": "support", "conversationId": "c1"}


@dataclass
class Place:
    """Surroundings of a run, which record what happens in them."""

    state: Path
    stored: int = 0
    why_not_ready: str | None = None
    is_drained: bool = True
    events: list[str] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    when_said: dict[str, Callable[[], None]] = field(default_factory=dict)
    watched: list[tuple[str, ...]] = field(default_factory=list)
    postgres: Any = None
    stack: Any = None
    quiet: asyncio.Event = field(default_factory=asyncio.Event)
    log: RecordingLog = field(default_factory=RecordingLog)
    month: Any = None
    has_server: bool = False

    def say(self, line: str) -> None:
        self.said.append(line)
        for beginning, call in self.when_said.items():
            if line.startswith(beginning):
                call()

    def options(self, *replay: Path, **more: Any) -> Options:
        given: dict[str, Any] = {
            "sample": False, "exit": False, "json": False, "host": "127.0.0.1", "port": 0, "token": TOKEN,
            "broker": "memory", "judge_at": None, "outcomes": None,
        }  # fmt: skip
        return Options(replay=replay, state=self.state, **given | more)

    async def run(self, *replay: Path, **more: Any) -> tuple[dict[str, Any] | None, str]:
        """Return the facts of a run with these options, and its output."""
        out = StringIO()
        async with asyncio.timeout(PATIENCE_SECONDS):
            facts = await up.up(self.options(*replay, **more), Console(file=out, width=200), self.say)
        return facts, out.getvalue()

    @property
    def run_facts(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.state / "run.json").read_text())
        return found


class Postgres:
    """Embedded database of a run."""

    has_ended = False
    url = "postgresql://embedded"

    def __init__(self, place: Place, directory: Path) -> None:
        self._place, self.directory = place, directory

    async def __aenter__(self) -> Postgres:
        self._place.events.append("database starts")
        return self

    async def __aexit__(self, *_: object) -> None:
        self._place.events.append("database stops")


class NoServer:
    """HTTP server that does not listen. A real one takes 0.2 s to start and stop."""

    port = 8080

    async def start(self, app: object) -> None:
        """Do nothing."""

    async def stop(self) -> None:
        """Do nothing."""


class Stack:
    """Stack that is ready at once, and processes each record as it is written."""

    warnings = ("a is full",)
    groups = ("feedback",)
    authenticators = ()
    services: Mapping[str, Any] = MappingProxyType({})

    def __init__(self, place: Place, context: Any, database_url: str, *more: Any) -> None:
        self._place, self.context, self.database_url = place, context, database_url
        self.backpressure, self.dead_letters, self.reporting, self.letters, self.sample = more
        self.intake = SimpleNamespace(bootstrap=context.bootstrap)
        self.log = place.log
        place.stack = self

    async def start(self) -> None:
        self._place.events.append("stack starts")

    async def stop(self) -> None:
        self._place.events.append("stack stops")

    async def not_ready(self) -> str | None:
        return self._place.why_not_ready

    async def drain(self, seconds: float) -> bool:
        self._place.events.append(f"drains {seconds:.0f} s")
        return self._place.is_drained

    async def quiet(self, progress: Callable[[int], None] = lambda _: None) -> None:
        progress(1_234)
        self._place.events.append(f"quiet after {len(self._place.log.messages)}")
        for offset, message in enumerate(self._place.log.messages):
            for observer in self.context.observers:
                cause = f"{message.topic}:0:{offset}"
                observer(Observation("chat_bridge", message.topic, cause, Outcome.STORED))
        await self._place.quiet.wait()

    @property
    def produced(self) -> Counter[str]:
        return Counter(message.topic for message in self._place.log.messages)

    async def fact(self, name: str) -> Any:
        return {"totals": Totals(stored=self._place.stored), "parked": 0, "report": REPORT}[name]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    found = Place(tmp_path / "state")
    found.quiet.set()

    @asynccontextmanager
    async def open_log(choice: str, state: Path, say: object, seconds: float | None) -> AsyncIterator[Any]:
        found.events.append(f"log {choice} of {state.name} within {seconds}")
        try:
            yield Cluster("127.0.0.1:9") if choice == "local" else "127.0.0.1:9"
        finally:
            found.events.append("log closes")

    async def wait_for_database(url: str, _: object) -> None:
        found.events.append(f"waits for {url}")

    async def answers() -> bool:
        return True

    def watching(name: str) -> Callable[[object], Dependency]:
        def watch(address: object) -> Dependency:
            found.watched.append((name, str(address)))
            return Dependency(name, answers)

        return watch

    def embedded(directory: Path, _: object) -> Postgres:
        found.postgres = Postgres(found, directory)
        return found.postgres  # type: ignore[no-any-return]  # a stub

    changes = {
        "EmbeddedPostgres": embedded, "open_log": open_log, "wait_for_database": wait_for_database,
        "Stack": lambda *given: Stack(found, *given), "tune_gc": lambda: None,
        "HttpServer": lambda *given: HttpServer(*given) if found.has_server else NoServer(),
        "database_at": watching("database"), "broker_at": watching("broker"), "_CHECK_SECONDS": 0.01,
    }  # fmt: skip
    for name, change in changes.items():
        monkeypatch.setattr(up, name, change)
    return found


@pytest.fixture(autouse=True)
def signals() -> Iterator[None]:
    """Restore the handlers of signals, which a run replaces."""
    former = {one: signal.getsignal(one) for one in (signal.SIGINT, signal.SIGTERM)}
    yield
    for one, handler in former.items():
        signal.signal(one, handler)
    logging.disable(logging.NOTSET)


def stop() -> None:
    signal.raise_signal(signal.SIGTERM)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "events.jsonl"
    path.write_text(f"{json.dumps(EVENT)}\n[]\n{json.dumps(EVENT)}\n")
    return path


async def test_a_batch_ends_with_a_summary_once_all_is_processed(place: Place, file: Path) -> None:
    place.stored = 1_200
    facts, out = await place.run(file, exit=True)
    assert facts is not None
    assert facts["replayed"]["lines"] == 3
    assert (facts["replayed"]["events"], facts["feedback"]["stored"], facts["ignored"]) == (2, 1_200, {})
    assert 0 <= facts["seconds"] < PATIENCE_SECONDS
    assert "chat events published" in out and "of 3 lines, 1 rejected" in out
    assert "Dashboard" not in out
    ready = place.said.pop(2)
    assert 0 <= float(ready.removeprefix("Ready after ").removesuffix(" s.")) < PATIENCE_SECONDS
    assert place.said == [
        "Starting PostgreSQL ...", "Starting the services ...",
        "The log in memory starts empty in each run and has none of the store's 1,200 feedback records: "
        "`agent-feedback republish` announces them again.",
    ]  # fmt: skip
    assert place.events == [
        "database starts", "log memory of state within 20.0", "stack starts", "quiet after 2", "drains 6 s",
        "stack stops", "log closes", "database stops",
    ]  # fmt: skip
    assert place.postgres.directory == place.state / "postgres"
    assert not (place.state / "run.json").exists()


@pytest.mark.parametrize("broker", ["memory", "127.0.0.1:9"])
async def test_a_batch_watches_the_servers_that_it_needs(place: Place, broker: str) -> None:
    await place.run(exit=True, broker=broker)
    watched = [("database", "postgresql://embedded")]
    if broker != "memory":
        watched.append(("broker", "127.0.0.1:9"))
    assert sorted(place.watched) == sorted(watched * 2), "during the start, and during the replay"


async def test_a_serving_run_watches_only_its_embedded_database_during_the_start(place: Place) -> None:
    place.when_said["Serving"] = stop
    await place.run()
    assert place.watched == [("database", "postgresql://embedded")]
    place.watched.clear()
    await place.run(database_url="postgresql://me:pw@own/db", broker="127.0.0.1:9")
    assert place.watched == []
    assert "waits for postgresql://me:pw@own/db" in place.events
    assert "log 127.0.0.1:9 of state within None" in place.events
    assert place.stack.database_url == "postgresql://me:pw@own/db"


@pytest.mark.parametrize(
    ("broker", "starts", "drains"), [("memory", False, True), ("local", True, False), ("127.0.0.1:9", False, False)]
)
async def test_only_a_log_in_memory_is_drained(place: Place, broker: str, starts: bool, drains: bool) -> None:
    place.stored = 5
    await place.run(exit=True, broker=broker)
    assert ("Starting Kafka ..." in place.said) is starts
    assert ("drains 6 s" in place.events) is drains
    assert any("log in memory starts empty" in line for line in place.said) is drains


async def test_an_empty_store_is_not_told(place: Place) -> None:
    _, out = await place.run(exit=True)
    assert not any("starts empty" in line for line in place.said)
    assert out == "", "nothing was replayed"


async def test_records_that_were_not_processed_are_told(place: Place) -> None:
    place.is_drained = False
    await place.run(exit=True)
    assert place.said[-1].startswith("Stopped before all records were processed; the in-process log loses them")


async def test_the_outcome_of_each_line_is_written_on_request(place: Place, file: Path, tmp_path: Path) -> None:
    facts, out = await place.run(file, exit=True, json=True, outcomes=tmp_path / "outcomes")
    rows = [json.loads(line) for line in (tmp_path / "outcomes").read_text().splitlines()]
    assert [(row["line"], row["fate"]) for row in rows] == [(1, "good"), (2, "bad"), (3, "good")]
    assert (facts is not None, out) == (True, ""), "the command prints the JSON"


async def test_a_serving_run_prints_its_page_and_serves_until_a_signal(place: Place, file: Path) -> None:
    found: list[Any] = []
    place.has_server = True

    async def look() -> None:
        run = place.run_facts
        async with httpx.AsyncClient(base_url=run["url"], trust_env=False) as http:
            ready = await http.get("/health/ready")
            found.append((ready.status_code, ready.json()["warnings"]))
            found.append((await http.get("/report")).status_code)
            http.headers["Authorization"] = f"Bearer {run['token']}"
            found.append((await http.get("/report")).json()["report"])
        found.append(run)
        stop()

    place.when_said["Serving"] = lambda: found.append(asyncio.ensure_future(look()))
    facts, out = await place.run(file)
    assert facts is not None
    task, ready, refused, report, run = found
    assert task.exception() is None
    assert (ready, refused, report) == ((200, ["a is full"]), 401, REPORT)
    assert run == {
        "url": run["url"], "token": TOKEN, "log": "memory", "broker": "127.0.0.1:9",
        "database": "postgresql://embedded", "groups": ["feedback"],
    }  # fmt: skip
    assert out.endswith(f"\nDashboard: {run['url']}?token={TOKEN}\n")
    assert "chat events published" in out
    async with httpx.AsyncClient(trust_env=False) as http:
        with pytest.raises(httpx.ConnectError):
            await http.get(run["url"])


async def test_a_serving_run_with_json_prints_nothing_itself(place: Place, file: Path) -> None:
    place.when_said["Serving"] = stop
    assert (await place.run(file, json=True))[1] == ""


async def test_a_run_that_starts_says_so(place: Place) -> None:
    port, answers = free_port(), list[Any]()
    place.why_not_ready = "the log is empty"
    place.has_server = True

    async def look() -> None:
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", trust_env=False) as http:
            answers.append((await http.get("/health/ready")).json())
            http.headers["Authorization"] = f"Bearer {TOKEN}"
            answers.append((await http.get("/report")).status_code)
        place.why_not_ready = None

    place.when_said["Starting the services"] = lambda: answers.append(asyncio.ensure_future(look()))
    await place.run(exit=True, port=port)
    _, health, refused = answers
    assert health == {"status": "not ready", "why": "the services are starting"}
    assert refused == 503


@pytest.mark.parametrize("when", ["start", "replay"])
async def test_a_signal_before_the_end_of_the_input_ends_the_run_without_a_result(
    place: Place, file: Path, when: str
) -> None:
    if when == "start":
        place.why_not_ready = "the log is empty"
        place.when_said["Starting the services"] = lambda: signal.raise_signal(signal.SIGINT)
    else:
        place.quiet.clear()
        place.when_said["Ready"] = lambda: signal.raise_signal(signal.SIGINT)
    assert await place.run(file, exit=True) == (None, "")
    assert "Stopping ... (press Ctrl-C again to end at once)" in place.said
    assert place.events[-3:] == ["stack stops", "log closes", "database stops"]


async def test_a_second_ctrl_c_ends_the_process_at_once(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    codes: list[int] = []

    def end(code: int) -> None:
        codes.append(code)
        place.when_said.clear()

    monkeypatch.setattr("os._exit", end)
    place.when_said = {
        "Ready": lambda: signal.raise_signal(signal.SIGINT),
        "Stopping": lambda: signal.raise_signal(signal.SIGINT),
    }
    await place.run(exit=True)
    assert "Ended at once." in place.said
    assert codes == [INTERRUPTED]


async def test_a_serving_run_ends_if_its_database_has_ended(place: Place) -> None:
    def lose() -> None:
        place.postgres.has_ended = True

    place.when_said["Serving"] = lose
    with pytest.raises(DependencyLost, match=r"^The database that this run started has ended: start the run again\.$"):
        await place.run()
    assert logging.root.manager.disable >= logging.CRITICAL, "the services' errors would hide the reason"


async def test_a_start_is_given_up_if_a_server_stops_answering(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    async def silent() -> bool:
        return False

    place.why_not_ready = "the log is empty"
    monkeypatch.setattr(up, "ANSWER_SECONDS", 0.01)
    monkeypatch.setattr(outage_watch, "PROBE_SECONDS", 0.005)
    monkeypatch.setattr(up, "database_at", lambda _: Dependency("database at x", silent))
    with pytest.raises(StartError, match=r"^The database at x has not answered for 0 s: the services did not start\.$"):
        await place.run()
    assert place.events[-2:] == ["log closes", "database stops"]


async def test_traces_are_closed_after_the_stack(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    class Traces:
        async def close(self) -> None:
            place.events.append("traces close")

    traces = Traces()
    monkeypatch.setattr(up, "open_traces", lambda: traces)
    await place.run(exit=True)
    assert place.stack.context.traces is traces
    assert place.events[-4:] == ["stack stops", "traces close", "log closes", "database stops"]


def test_a_batch_waits_twenty_seconds_for_its_servers_and_a_serving_run_without_limit(place: Place) -> None:
    assert place.options(exit=True).patience == 20
    assert place.options().patience is None


async def test_a_stack_on_a_log_in_memory_has_backpressure(place: Place) -> None:
    await place.run(exit=True, judge_at=7)
    stack = place.stack
    assert isinstance(stack.context.wrap_producer(RecordingLog()), BackpressureProducer)
    assert (stack.context.on_commit, stack.context.room) == (stack.backpressure.committed, stack.backpressure.room)
    assert stack.context.judge_at == 7
    with StateFolder(place.state) as state:
        assert stack.reporting == {"secret_key": state.secret_key(), "private_channels": True}
    await place.run(exit=True, broker="127.0.0.1:9")
    assert place.stack.backpressure is None
    assert not isinstance(place.stack.context.wrap_producer(RecordingLog()), BackpressureProducer)


async def test_tokens_of_an_issuer_are_valid_beside_the_runs_own(monkeypatch: pytest.MonkeyPatch) -> None:
    class Issuer:
        async def authenticate(self, token: str) -> Caller | None:
            return Caller("ann") if token == "anns" else None

    auth: Any = None
    for issuer, ann in ((None, None), (Issuer(), Caller("ann"))):
        monkeypatch.setattr(up, "issuer_of", lambda _, found=issuer: found)
        authenticator = up._authenticator(auth, TOKEN)
        own = await authenticator.authenticate(TOKEN)
        assert own is not None and own.subject == "local"
        assert await authenticator.authenticate("anns") == ann


class History:
    """Writer of the sample's history that records its steps."""

    def __init__(self, place: Place, *given: Any) -> None:
        self._place = place
        place.events.append(f"history of {given[3:]} in {given[1]}")

    def __getattr__(self, name: str) -> Any:
        async def step() -> None:
            self._place.events.append(name)

        return step


@pytest.fixture
def sample(place: Place, file: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    """Return the place, in which the sample consists of the events in `file`."""

    @asynccontextmanager
    async def issues_held(url: str, _: object) -> AsyncIterator[str]:
        place.events.append(f"holds issues of {url}")
        yield "pool"
        place.events.append("releases issues")

    def write_sample(path: Path, now: int) -> Path:
        if not path.exists():
            path.write_text(file.read_text())
        return path

    place.month = ("month", 7)
    monkeypatch.setattr(up, "issues_held", issues_held)
    monkeypatch.setattr(up, "write_sample", write_sample)
    monkeypatch.setattr(up, "month_of", lambda path: place.month if path == place.state / "sample.jsonl" else None)
    monkeypatch.setattr(up, "SampleHistory", lambda *given: History(place, *given))
    return place


STEPS = [
    "holds issues of postgresql://embedded", "quiet after 2", "history of ('month', 7) in postgresql://embedded",
    "judge", "quiet after 2", "review", "quiet after 2", "handle_issues", "raise_alerts", "gather_statistics",
    "releases issues",
]  # fmt: skip


def steps(place: Place) -> list[str]:
    first = place.events.index("stack starts") + 1
    return place.events[first : place.events.index("drains 6 s")]


async def test_the_history_of_the_sample_is_written_once(sample: Place) -> None:
    facts, _ = await sample.run(sample=True, exit=True)
    assert facts is not None and facts["replayed"]["lines"] == 3
    assert steps(sample) == STEPS
    sample.events.clear()
    facts, _ = await sample.run(sample=True, exit=True)
    assert facts is not None and facts["replayed"]["lines"] == 3
    assert steps(sample) == ["quiet after 4"], "an earlier run has written it"


async def test_a_sample_of_other_events_has_no_history(sample: Place) -> None:
    sample.month = None
    await sample.run(sample=True, exit=True)
    assert steps(sample) == ["quiet after 2"]
    assert not (sample.state / "sample.told").exists()


async def test_a_serving_run_loads_the_sample_on_request(
    sample: Place, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    sample.when_said = {"Serving": lambda: sample.stack.sample.start(), "The sample is loaded": stop}
    await sample.run()
    assert steps(sample)[1:] == STEPS
    assert capsys.readouterr().err == "", "a page shows the progress"


@pytest.mark.parametrize("more", [{}, {"json": True}], ids=["bar", "json"])
async def test_a_progress_bar_is_shown_on_standard_error_and_erased(
    place: Place,
    file: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    more: dict[str, Any],
) -> None:
    for name, value in (("FORCE_COLOR", "1"), ("TERM", "xterm"), ("COLUMNS", "120")):
        monkeypatch.setenv(name, value)
    await place.run(file, exit=True, **more)
    out, err = capsys.readouterr()
    assert out == ""
    assert ("Replaying" in err, "Processing (1,234 records to go)" in err) == ((False, False) if more else (True, True))
    assert err.endswith("\x1b[2K") is (more == {}), "nothing is left on the terminal"
    await place.run(exit=True)
    assert capsys.readouterr().err == "", "there is nothing to replay"
