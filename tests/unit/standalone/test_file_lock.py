"""One holder of a file at a time, named by its process id."""

from __future__ import annotations

import os
from pathlib import Path

from standalone.embedded.file_lock import FileLock


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
