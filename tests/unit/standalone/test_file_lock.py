"""One holder of a file at a time, named by its process id."""

from __future__ import annotations

import os
import warnings
from pathlib import Path

from standalone.embedded.file_lock import FileLock, lock_beside


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
