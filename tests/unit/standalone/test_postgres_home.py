"""Locations of an embedded PostgreSQL's data, programs and socket, for the current user and for root."""

from __future__ import annotations

import os
import pwd
import stat
from pathlib import Path

import pytest

from standalone.embedded import postgres_home
from standalone.embedded.postgres_home import (
    PostgresHome,
    can_reach,
    hand_over,
    socket_directory,
)
from standalone.embedded.processes import Account

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root runs programs as another user")
SOMEBODY = Account("somebody", 70, 90)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@needs_root
def test_existing_data_keeps_its_owner(tmp_path: Path) -> None:
    data = tmp_path / "postgres"
    data.mkdir()
    os.chown(data, 54_321, 12_345)
    assert postgres_home._account_for(data).uid != 54_321, "it is not initialised"
    (data / "PG_VERSION").touch()
    assert postgres_home._account_for(data) == Account("54321", 54_321, 12_345)
    nobody = pwd.getpwnam("nobody")
    os.chown(data, nobody.pw_uid, nobody.pw_gid)
    assert postgres_home._account_for(data) == Account("nobody", nobody.pw_uid, nobody.pw_gid)
    os.chown(data, 0, 0)
    assert postgres_home._account_for(data).uid != 0


@needs_root
def test_a_folder_is_tried_as_the_user(tmp_path: Path) -> None:
    nobody = pwd.getpwnam("nobody")
    account = Account("nobody", nobody.pw_uid, nobody.pw_gid)
    assert can_reach(account, Path("/"))
    tmp_path.chmod(0o700)
    assert not can_reach(account, tmp_path)
    assert can_reach(None, tmp_path)


@needs_root
def test_a_folder_is_handed_to_its_user_alone(tmp_path: Path) -> None:
    hand_over(tmp_path, SOMEBODY)
    assert (tmp_path.stat().st_uid, tmp_path.stat().st_gid, mode(tmp_path)) == (70, 90, 0o700)
    tmp_path.chmod(0o755)
    hand_over(tmp_path, None)
    assert (tmp_path.stat().st_uid, mode(tmp_path)) == (70, 0o700)


def home_at(data: Path) -> PostgresHome:
    return PostgresHome(data, Path("/programs"), None, "")


@pytest.mark.parametrize(
    ("name", "fits"),
    # The path of a Unix socket has at most 107 bytes, including "/.s.PGSQL.5432".
    [("x" * 92, True), ("x" * 93, False), ("é" * 46, True), ("é" * 47, False), ("a,b", False)],
)
def test_the_socket_is_in_the_data_if_its_path_is_short(name: str, fits: bool) -> None:
    data = Path(f"/{name}")
    with socket_directory(home_at(data)) as found:
        assert (found == data) is fits
        if not fits:
            assert found.name.startswith("agent-feedback-")
            assert mode(found) == 0o700
            (found / "socket").touch()
    assert not found.exists()
