"""Access rights of a state folder."""

from __future__ import annotations

import stat
from pathlib import Path

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
