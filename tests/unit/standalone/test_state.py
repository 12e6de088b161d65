"""Contents of a run's state folder."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from servicekit.errors import StartError
from standalone.embedded.processes import FileLock
from standalone.state import _MODE, StateFolder, running


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


def test_nobody_else_lists_a_state_folder(tmp_path: Path) -> None:
    folder = tmp_path / "state"
    with StateFolder(folder):
        assert mode(folder) == _MODE
    assert _MODE & 0o066 == 0


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
