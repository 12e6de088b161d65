"""Contents of a run's state folder."""

from __future__ import annotations

import json
import os
import random
import runpy
import socket
import stat
import subprocess
import sys
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from servicekit.errors import StartError
from standalone import state
from standalone.embedded.file_lock import FileLock, lock_beside
from standalone.state import _MODE, StateFolder, running
from tests.support import ports


@pytest.mark.parametrize("left", [None, "", " \n"])
def test_a_token_file_that_holds_none_is_written_afresh(tmp_path: Path, left: str | None) -> None:
    with StateFolder(tmp_path / "state") as state:
        file = state.path / "token"
        if left is not None:
            file.write_text(left)
        token = state.token(None)
        assert len(token) > 20
        assert (file.read_text(), file.stat().st_mode & 0o777) == (token, 0o600)
        assert state.token(None) == token
        assert state.token("given") == "given"


def test_what_a_run_announces_with_its_token_is_its_owners(tmp_path: Path) -> None:
    with StateFolder(tmp_path / "state") as state:
        state.announce({"token": "secret"})
        file = state.path / "run.json"
        assert (json.loads(file.read_text()), file.stat().st_mode & 0o777) == ({"token": "secret"}, 0o600)
    assert not file.exists()


def test_a_token_that_was_half_written_is_written_afresh(tmp_path: Path) -> None:
    with StateFolder(tmp_path / "state") as state:
        (state.path / "token.part").write_text("half of a tok")
        token = state.token(None)
        assert sorted(one.name for one in state.path.iterdir()) == ["lock", "token"]
    with StateFolder(tmp_path / "state") as state:
        assert state.token(None) == token


def test_one_run_at_a_time_uses_a_folder(tmp_path: Path) -> None:
    path = tmp_path / "some" / "state"
    with StateFolder(path):
        said = rf"^The state folder {path} is in use by another run \(process {os.getpid()}\): stop that one, or choose"
        with pytest.raises(StartError, match=said):
            StateFolder(path).__enter__()
        assert (path / "lock").exists()
    with StateFolder(path):
        assert path.is_dir()


def test_a_folder_is_the_same_after_a_change_of_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with StateFolder(Path("state")) as state:
        monkeypatch.chdir("/")
        assert state.path == tmp_path / "state"
        assert len(state.token(None)) > 20


@pytest.mark.parametrize("write", [lambda state: state.token(None), lambda state: state.announce({})])
def test_a_folder_that_cannot_be_written_is_said(tmp_path: Path, write: Any) -> None:
    state = StateFolder(tmp_path / "nothing")
    with pytest.raises(
        StartError, match=rf"^The state folder {tmp_path}/nothing cannot be used: No such file or directory\.$"
    ):
        write(state)


def test_commands_read_what_the_run_has_announced(tmp_path: Path) -> None:
    with StateFolder(tmp_path) as state:
        state.announce({"url": "http://127.0.0.1:1/", "more": "x" * 100})
        state.announce({"url": "http://127.0.0.1:2/"})
        assert running(tmp_path) == {"url": "http://127.0.0.1:2/"}
        (tmp_path / "run.json").write_text("{")
        with pytest.raises(StartError, match=f"^Nothing runs on {tmp_path}: start it with `agent-feedback up`"):
            running(tmp_path)
    with pytest.raises(StartError, match=r"^Nothing runs on"):
        running(tmp_path)


# Access rights of a state folder.


def mode(folder: Path) -> int:
    return stat.S_IMODE(folder.stat().st_mode)


def test_nobody_else_lists_a_state_folder_made_or_found(tmp_path: Path) -> None:
    folder = tmp_path / "state"
    with StateFolder(folder):
        assert mode(folder) == _MODE
    folder.chmod(0o755)
    with StateFolder(folder):
        assert mode(folder) == _MODE
    assert _MODE & 0o066 == 0


def test_a_folder_with_other_things_in_it_stays_as_open_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").touch()
    tmp_path.chmod(0o755)
    with StateFolder(tmp_path):
        assert mode(tmp_path) == 0o755


@pytest.mark.parametrize(
    ("name", "is_ours"), [("token.part", True), ("sample.jsonl", True), ("run.json", True), ("postgres.new", True),
                          ("tokens", False), (".token", False)],
)  # fmt: skip
def test_a_folder_with_files_of_a_run_only_is_closed_to_others(tmp_path: Path, name: str, is_ours: bool) -> None:
    (tmp_path / name).touch()
    tmp_path.chmod(0o755)
    with StateFolder(tmp_path):
        assert (mode(tmp_path) == _MODE) is is_ours


def test_root_lets_other_users_enter_but_not_list(monkeypatch: pytest.MonkeyPatch) -> None:
    for user, access in ((0, 0o711), (1_000, 0o700)):
        monkeypatch.setattr(os, "geteuid", lambda user=user: user)
        assert runpy.run_path(str(state.__file__))["_MODE"] == access


# One holder of a file at a time, named by its process id.


def test_the_second_gets_it_after_the_first(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    path.write_text("12345678 of an earlier run\n", "utf-8")
    first, second = FileLock(path), FileLock(path)
    assert first.take() and first.take()
    assert not second.take()
    assert second.holder() == first.holder() == str(os.getpid())
    first.give_back()
    assert second.take()
    assert not first.take()
    second.give_back()
    second.give_back()


def test_a_file_without_a_holder_names_nobody(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    path.touch()
    assert FileLock(path).holder() == "unknown"


def test_the_file_is_its_owners_and_names_the_holder_alone(tmp_path: Path) -> None:
    lock = FileLock(tmp_path / "lock")
    assert lock.take()
    assert (tmp_path / "lock").read_text() == f"{os.getpid()}\n"
    assert (tmp_path / "lock").stat().st_mode & 0o777 == 0o600
    (tmp_path / "lock").write_text("7" * 300)
    assert lock.holder() == "7" * 20, "a file of another program is not quoted whole"


def test_the_lock_of_a_directory_is_beside_it(tmp_path: Path) -> None:
    (tmp_path / "postgres").mkdir()
    lock = lock_beside(tmp_path / "postgres")
    assert lock.take()
    assert sorted(one.name for one in tmp_path.iterdir()) == ["postgres", "postgres.lock"]


def test_an_attempt_that_fails_leaves_no_open_file(tmp_path: Path) -> None:
    holder, other = FileLock(tmp_path / "lock"), FileLock(tmp_path / "lock")
    assert holder.take()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not other.take()
    holder.give_back()
    assert other.take()


# A free port is returned once, since the first caller's server may not listen yet.


def test_a_free_port_is_returned_once(monkeypatch: pytest.MonkeyPatch) -> None:
    picked = iter([40_001, 40_001, 40_002])
    monkeypatch.setattr(ports, "_returned", {})
    monkeypatch.setattr(ports, "is_free", lambda port: True)
    monkeypatch.setattr(random, "randint", lambda low, high: next(picked))
    assert [ports.free_port(), ports.free_port()] == [40_001, 40_002]


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has abstract socket names")
def test_a_port_is_not_returned_to_two_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    held = (
        "import random, sys; from tests.support import ports; ports.is_free = lambda port: True;"
        "random.randint = lambda low, high: 40_001; print(ports.free_port(), flush=True); sys.stdin.read()"
    )
    picked = iter([40_001, 40_002, 40_001])
    monkeypatch.setattr(ports, "_returned", {})
    monkeypatch.setattr(ports, "is_free", lambda port: True)
    monkeypatch.setattr(random, "randint", lambda low, high: next(picked))
    with subprocess.Popen([sys.executable, "-c", held], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"40001\n"
        assert ports.free_port() == 40_002
        other.communicate()
    assert ports.free_port() == 40_001, "the reservation ends with its process"


def test_a_port_is_below_those_that_the_system_gives_to_clients(monkeypatch: pytest.MonkeyPatch) -> None:
    ranges: list[tuple[int, int]] = []
    real = random.randint

    def picked(low: int, high: int) -> int:
        ranges.append((low, high))
        return real(low, high)

    monkeypatch.setattr(random, "randint", picked)
    assert ports.is_free(ports.free_port())
    assert set(ranges) == {(20_000, 32_000)}


def test_a_port_with_a_server_is_not_free_and_one_of_a_closed_connection_is() -> None:
    with socket.socket() as server:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        port = ports.free_port()
        server.bind(("127.0.0.1", port))
        server.listen()
        assert not ports.is_free(port)
        client = socket.create_connection(("127.0.0.1", port))
        accepted, _ = server.accept()
        accepted.close()  # this end waits for late packets
        client.close()
    assert ports.is_free(port)


def test_a_port_that_is_taken_is_not_returned(monkeypatch: pytest.MonkeyPatch) -> None:
    picked = iter([40_011, 40_012])
    monkeypatch.setattr(ports, "_returned", {})
    monkeypatch.setattr(ports, "is_free", lambda port: port != 40_011)
    monkeypatch.setattr(random, "randint", lambda low, high: next(picked))
    assert ports.free_port() == 40_012


def test_without_a_free_port_the_search_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ports, "is_free", lambda port: False)
    with pytest.raises(OSError, match=r"^No free port was found on 127\.0\.0\.1 between 20000 and 32000\.$"):
        ports.free_port()


def test_elsewhere_than_on_linux_a_port_is_returned_once_per_process(monkeypatch: pytest.MonkeyPatch) -> None:
    picked = iter([40_021, 40_021, 40_022])
    monkeypatch.setattr(ports, "_returned", {})
    monkeypatch.setattr(ports, "is_free", lambda port: True)
    monkeypatch.setattr(ports, "sys", SimpleNamespace(platform="darwin"))
    monkeypatch.setattr(random, "randint", lambda low, high: next(picked))
    assert [ports.free_port(), ports.free_port()] == [40_021, 40_022]
