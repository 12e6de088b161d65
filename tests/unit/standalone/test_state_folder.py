"""Access rights of a state folder."""

from __future__ import annotations

import os
import runpy
import stat
from pathlib import Path

import pytest

from standalone import state
from standalone.state import _MODE, StateFolder


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
