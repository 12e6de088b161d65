"""Child processes: how they are started and ended, and the error that their log tells."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from standalone.embedded.children import Account, end, ended, last_complaint, spawn

COMPLAINT = re.compile("(?:FATAL|error):(.*)")
IGNORES = (
    "import signal, time; signal.signal(signal.SIGINT, signal.SIG_IGN); print('ready', flush=True); time.sleep(600)"
)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "it left no message"),
        (" \n\n", "it left no message"),
        ("first\n  last \n\n", "last"),
        ("FATAL: one \nerror: two \nmore\n", "two"),
        ("error: one\nNo space left on device: x\nerror: two", "No space left on device"),
        ("error: one\nCheck free disk space\n", "No space left on device"),
        ("caf\xe9 error: one", "one"),
    ],
)
def test_the_reason_is_the_last_error_of_the_log(tmp_path: Path, text: str, reason: str) -> None:
    log = tmp_path / "server.log"
    log.write_bytes(text.encode("latin-1"))
    assert last_complaint(log, COMPLAINT) == reason


def started(folder: Path, *command: str, account: Account | None = None) -> tuple[subprocess.Popen[bytes], Path]:
    out = folder / "out"
    with out.open("wb") as output:
        environment = {"ONLY": "this", "PATH": os.environ["PATH"]}
        return spawn(command, output=output, environment=environment, account=account, folder=folder), out


@pytest.mark.timeout(20)
async def test_a_child_has_its_own_session_folder_and_environment(tmp_path: Path) -> None:
    process, out = started(tmp_path, "/bin/sh", "-c", "pwd; cat; echo $ONLY; echo wrong >&2; exec sleep 600")
    assert os.getsid(process.pid) == process.pid, "Ctrl-C in our terminal must not reach it"
    while out.read_text().split() != [str(tmp_path), "this", "wrong"]:
        assert not await ended(process, 0)
    await end(process, [(signal.SIGKILL, 10)])
    assert await ended(process, 0)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root changes the user")
async def test_a_child_may_run_as_another_user(tmp_path: Path) -> None:
    process, out = started(tmp_path, "/bin/sh", "-c", "id -u; id -g; id -G", account=Account("x", 54_321, 12_345))
    assert await ended(process, 10)
    assert out.read_text().split() == ["54321", "12345", "12345"]


def test_a_child_is_started_from_the_main_thread_only(tmp_path: Path) -> None:
    errors: list[str] = []

    def start() -> None:
        with pytest.raises(RuntimeError, match="main thread") as caught:
            started(tmp_path, "true")
        errors.append(str(caught.value))

    thread = threading.Thread(target=start)
    thread.start()
    thread.join()
    assert len(errors) == 1


@pytest.mark.timeout(20)
async def test_a_child_that_ignores_a_signal_gets_the_next_one(tmp_path: Path) -> None:
    process, out = started(tmp_path, sys.executable, "-S", "-c", IGNORES)
    while not out.read_text():
        assert not await ended(process, 0)
    await end(process, [(signal.SIGINT, 0.02)])
    assert process.poll() is None
    await end(process, [(signal.SIGINT, 0.02), (signal.SIGTERM, 10), (signal.SIGKILL, 10)])
    assert process.poll() == -signal.SIGTERM
    await end(process, [(signal.SIGKILL, 10)])
    assert process.poll() == -signal.SIGTERM, "it has ended already"


PARENT = """
import os, signal, sys
sys.path[:0] = sys.argv[2:]
from standalone.embedded.children import spawn
with open(os.devnull, "wb") as output:
    child = spawn(["sleep", "600"], output=output, environment=os.environ, on_our_death=signal.SIGKILL)
print(child.pid, flush=True)
os._exit(0)
"""


@pytest.mark.timeout(20)
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends children with their parent")
def test_a_child_ends_with_its_parent() -> None:
    done = subprocess.run([sys.executable, "-c", PARENT, "", *sys.path], capture_output=True, text=True, check=True)
    status = Path(f"/proc/{int(done.stdout)}/stat")
    while True:
        try:
            if status.read_text().rpartition(")")[2].split()[0] == "Z":
                break
        except (FileNotFoundError, ProcessLookupError):
            break
