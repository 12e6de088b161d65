"""Start and end of the local Kafka's process. A shell script takes Java's place, so no broker answers."""

from __future__ import annotations

import asyncio
import base64
import os
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from servicekit.log.cluster import Cluster
from standalone.embedded import children, local_kafka
from standalone.embedded.local_kafka import LocalKafka, LocalKafkaError, new_cluster_id
from standalone.embedded.memory_broker import MemoryBroker
from standalone.embedded.ports import free_port
from tests.support.served import answering, hanging_up
from tests.support.waits import PATIENCE_SECONDS

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are looked up in /proc")
JAVA = """#!/bin/sh
echo "$@" >>calls
case "$*" in
  *kafka.tools.StorageTool*)
    data=$(sed -n 's/^log.dirs=//p' server.properties)
    mkdir "$data" || exit 1
    [ -e no-room ] && echo "java.io.IOException: no room" && exit 1
    touch "$data/meta.properties" ;;
  *)
    echo started
    [ -e broken ] && echo "java.lang.IllegalStateException: bad state" && exit 1
    exec sleep 600 ;;
esac
"""


class Answers:
    """Broker that answers a question with the next of `given`, or else if its process has started."""

    def __init__(self, log: Path) -> None:
        self._log = log
        self.given: list[bool] = []
        self.asked: list[Cluster] = []

    async def __call__(self, cluster: Cluster) -> bool:
        self.asked.append(cluster)
        return self.given.pop(0) if self.given else self._log.read_text().endswith("started\n")


@pytest.fixture
def answers(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Answers:
    found = Answers(folder / "kafka.log")
    monkeypatch.setattr(local_kafka, "_answers", found)
    monkeypatch.setattr(local_kafka, "_POLL_SECONDS", 0.005)
    monkeypatch.setattr(local_kafka, "find_jars", lambda _: [Path("/jars/a.jar"), Path("/jars/b.jar")])
    return found


@pytest.fixture
def java(tmp_path: Path) -> Path:
    program = tmp_path / "java"
    program.write_text(JAVA)
    program.chmod(0o755)
    return program


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "state" / "kafka"


def calls(folder: Path) -> list[str]:
    return (folder / "calls").read_text().splitlines()


def settings(folder: Path) -> dict[str, str]:
    lines = (folder / "server.properties").read_text().splitlines()
    return {name: value for name, _, value in (line.partition("=") for line in lines)}


def state_of(pid: int | None) -> str | None:
    """Return the state of a process, such as "S" or "T", or None if it has ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return None


@pytest.mark.usefixtures("answers")
async def test_the_first_start_formats_the_directory_and_later_ones_use_it(java: Path, folder: Path) -> None:
    kafka = LocalKafka(folder, java=java)
    with pytest.raises(LocalKafkaError, match="has no address before its first start"):
        _ = kafka.bootstrap
    async with kafka as running:
        assert running is kafka
        pid, address = kafka.pid, kafka.bootstrap
        await kafka.start()
        assert kafka.pid == pid, "it runs already"
    assert (kafka.pid, state_of(pid)) == (None, None)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    formatting, starting = calls(folder)
    assert " -cp /jars/a.jar:/jars/b.jar kafka.tools.StorageTool format -t k" in formatting
    assert formatting.endswith(" -c server.properties")
    assert starting.endswith(" -cp /jars/a.jar:/jars/b.jar kafka.Kafka server.properties")
    assert sorted(one.name for one in folder.iterdir()) == ["calls", "data", "kafka.log", "server.properties"]
    async with kafka:
        assert kafka.bootstrap == address
        assert kafka.pid not in (None, pid)
    assert len(calls(folder)) == 3
    assert (folder / "kafka.log.1").read_text() == "started\n"


@pytest.mark.usefixtures("answers")
async def test_the_settings_name_the_port_and_the_data(java: Path, folder: Path) -> None:
    port = free_port()
    async with LocalKafka(folder, port=port, java=java) as kafka:
        found = settings(folder)
        assert kafka.bootstrap == f"127.0.0.1:{port}"
        assert (str(kafka.cluster), kafka.cluster.security.sasl_password) == (kafka.bootstrap, None)
    assert found["log.dirs"] == "data"
    assert found["advertised.listeners"] == f"PLAINTEXT://127.0.0.1:{port}"
    assert found["listeners"].startswith(f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:")
    assert found["controller.quorum.voters"] == "1@" + found["listeners"].rpartition("//")[2]


async def test_clients_get_the_secret_of_a_broker(java: Path, folder: Path, answers: Answers) -> None:
    answers.given = [False, False]
    async with LocalKafka(folder, java=java, secret="s3cret") as kafka:
        cluster = kafka.cluster
    assert cluster.security.sasl_password is not None
    assert (cluster.security.sasl_username, cluster.security.sasl_password.get_secret_value()) == (
        "agent-feedback", "s3cret"
    )  # fmt: skip
    assert settings(folder)["listener.name.sasl_plaintext.plain.sasl.jaas.config"].count('"s3cret"') == 2
    assert {str(one) for one in answers.asked} == {kafka.bootstrap}
    assert len(answers.asked) > 2, "it is ready once it answers"


@pytest.mark.usefixtures("answers")
async def test_a_cluster_may_have_a_given_id_and_further_options(java: Path, folder: Path) -> None:
    class Named(LocalKafka):
        cluster_id = "a-cluster"
        format_options = ("--add-scram", "x")

    async with Named(folder, java=java):
        assert calls(folder)[0].endswith("format -t a-cluster -c server.properties --add-scram x")


def test_a_random_cluster_id_has_sixteen_bytes_and_no_leading_dash() -> None:
    ids = {new_cluster_id() for _ in range(100)}
    assert len(ids) == 100
    assert {(one[0], len(one), len(base64.urlsafe_b64decode(f"{one}=="))) for one in ids} == {("k", 22, 16)}


@pytest.mark.usefixtures("answers")
async def test_a_directory_that_cannot_be_formatted_is_not_used(java: Path, folder: Path) -> None:
    folder.mkdir(parents=True)
    (folder / "no-room").touch()
    kafka = LocalKafka(folder, java=java)
    said = rf"^Kafka could not format {folder}: java\.io\.IOException: no room$"
    for _ in range(2):  # the remains of the first attempt do not matter
        with pytest.raises(LocalKafkaError, match=said):
            await kafka.start()
    assert not (folder / "data").exists()
    (folder / "no-room").unlink()
    async with LocalKafka(folder, java=java):
        assert (folder / "data" / "meta.properties").exists()


async def test_a_broker_that_ends_at_its_start_is_said_with_its_reason(
    java: Path, folder: Path, answers: Answers
) -> None:
    folder.mkdir(parents=True)
    (folder / "broken").touch()
    answers.given = [False] * 1_000
    kafka = LocalKafka(folder, java=java)
    with pytest.raises(
        LocalKafkaError, match=rf"^Kafka did not start in {folder}: java\.lang\.IllegalStateException: bad state$"
    ):
        await kafka.start()
    assert kafka.pid is None
    (folder / "broken").unlink()
    answers.given = []
    async with LocalKafka(folder, java=java) as other:
        assert other.pid is not None, "the lock is free again"


async def test_a_broker_that_does_not_answer_is_ended(
    java: Path, folder: Path, answers: Answers, monkeypatch: pytest.MonkeyPatch
) -> None:
    kafka = LocalKafka(folder, java=java)
    async with kafka:
        pass
    monkeypatch.setattr(local_kafka, "_START_SECONDS", 0.02)
    answers.given = [False] * 1_000
    with pytest.raises(LocalKafkaError, match=rf"^Kafka in {folder} did not respond in 0 seconds\.$"):
        await kafka.start()
    assert kafka.pid is None


@pytest.mark.parametrize(
    ("error", "raised"),
    [
        (asyncio.CancelledError(), asyncio.CancelledError),
        (RuntimeError("no thread"), LocalKafkaError),
        (OSError("no file"), LocalKafkaError),
        (LocalKafkaError("no address"), LocalKafkaError),
    ],
)
async def test_a_start_that_is_given_up_leaves_no_process(
    java: Path, folder: Path, answers: Answers, error: BaseException, raised: type[BaseException]
) -> None:
    kafka = LocalKafka(folder, java=java)
    pids: list[int | None] = []

    async def fails(_: Cluster) -> bool:
        pids.append(kafka.pid)
        raise error

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(local_kafka, "_answers", fails)
        with pytest.raises(raised, match=f"{error}$"):
            await kafka.start()
    assert (kafka.pid, [state_of(pid) for pid in pids]) == (None, [None])
    async with LocalKafka(folder, java=java):
        assert answers.asked, "the lock is free again"


@pytest.mark.usefixtures("answers")
async def test_only_one_run_uses_a_directory(java: Path, folder: Path) -> None:
    async with LocalKafka(folder, java=java) as first:
        with pytest.raises(LocalKafkaError, match=f"^Another run of agent-feedback uses the Kafka in {folder}; stop"):
            await LocalKafka(folder, java=java).start()
        assert state_of(first.pid) is not None


@pytest.mark.usefixtures("answers")
async def test_a_port_in_use_is_said(java: Path, folder: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(LocalKafkaError, match=rf"^Port {port} on 127\.0\.0\.1 is in use; stop the program"):
            await LocalKafka(folder, java=java, port=port).start()
    assert not (folder / "calls").exists()


@pytest.mark.usefixtures("answers")
async def test_a_killed_broker_starts_again_and_a_paused_one_can_be_stopped(java: Path, folder: Path) -> None:
    kafka = LocalKafka(folder, java=java)
    for change in (kafka.kill, kafka.pause, kafka.resume):
        change()  # nothing runs
    async with asyncio.timeout(PATIENCE_SECONDS):
        await kafka.start()
        address, killed = kafka.bootstrap, kafka.pid
        kafka.kill()
        assert (kafka.pid, state_of(killed)) == (None, None)
        await kafka.start()
        assert kafka.bootstrap == address
        paused = kafka.pid
        assert paused is not None
        kafka.pause()
        while state_of(paused) != "T":
            await asyncio.sleep(0)
        kafka.resume()
        while state_of(paused) == "T":
            await asyncio.sleep(0)
        kafka.pause()
        process = kafka._process
        await kafka.stop()
        assert state_of(paused) is None
        assert process is not None and process.returncode == -signal.SIGTERM, "it is not killed"
        await kafka.stop()


@pytest.mark.usefixtures("answers")
async def test_a_broker_is_killed_if_it_has_not_ended_after_half_a_minute(
    java: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[Any] = []

    async def end(process: Any, given: Any) -> None:
        steps.append(given)
        await children.end(process, given)

    kafka = LocalKafka(folder, java=java)
    await kafka.start()
    monkeypatch.setattr(local_kafka, "end", end)
    await kafka.stop()
    assert [[one for one, _ in given] for given in steps] == [[signal.SIGTERM, signal.SIGKILL]]
    assert steps[0][0][1] == 30


@pytest.mark.usefixtures("answers")
async def test_a_broker_that_has_died_is_started_again(java: Path, folder: Path) -> None:
    async with LocalKafka(folder, java=java) as kafka:
        died = kafka.pid
        assert died is not None and kafka._process is not None
        os.kill(died, signal.SIGKILL)
        kafka._process.wait()
        await kafka.start()
        assert kafka.pid not in (None, died)


@pytest.fixture
def locked(folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Yield a process that holds the lock of the data directory, like the broker of an earlier run."""
    (folder / "data").mkdir(parents=True)
    (folder / "data" / ".lock").touch()
    hold = "import fcntl, sys; file = open(sys.argv[1], 'rb+'); fcntl.lockf(file, fcntl.LOCK_EX); print(flush=True);"
    arguments = [sys.executable, "-S", "-c", hold + "sys.stdin.read()", str(folder / "data" / ".lock")]
    with subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        yield holder


@pytest.mark.usefixtures("answers")
async def test_the_broker_of_an_earlier_run_is_waited_for(
    java: Path, folder: Path, locked: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "data" / "meta.properties").touch()
    with monkeypatch.context() as impatient:
        impatient.setattr(local_kafka, "_TAKE_OVER_SECONDS", 0.01)
        with pytest.raises(LocalKafkaError, match=f"^Another Kafka runs on {folder}; stop it first"):
            await LocalKafka(folder, java=java).start()
    assert not (folder / "calls").exists()
    kafka = LocalKafka(folder, java=java)
    starting = asyncio.create_task(kafka.start())
    await asyncio.sleep(0.03)
    assert not starting.done()
    assert not (folder / "calls").exists()
    locked.communicate()
    async with asyncio.timeout(PATIENCE_SECONDS):
        await starting
    await kafka.stop()
    assert len(calls(folder)) == 1, "the directory is formatted already"


@pytest.mark.usefixtures("answers")
async def test_a_directory_that_cannot_be_made_is_said(java: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(LocalKafkaError, match=f"^Kafka cannot be started in {tmp_path}/file/kafka: "):
        await LocalKafka(tmp_path / "file" / "kafka", java=java).start()


async def test_a_broker_answers_if_it_is_in_its_cluster() -> None:
    with MemoryBroker({}) as broker:
        assert await local_kafka._answers(Cluster(broker.bootstrap)) is True
    assert await local_kafka._answers(Cluster(f"127.0.0.1:{free_port()}")) is False
    async with answering(hanging_up) as url:
        assert await local_kafka._answers(Cluster(url.removeprefix("http://"))) is False
