"""A `postmaster.pid` that outlived its server.

PostgreSQL takes the file for a running server when the process number in it lives and belongs to the same user, as
after a container's restart, where numbers repeat, or where a dead server was never reaped.
"""

from pathlib import Path


def clear_if_stale(data: Path) -> bool:
    """Remove the file when no process of a server works in the data directory; True when it was removed.

    Every process of a PostgreSQL server works in its data directory, its children too, which may outlive it for a
    moment and must not be overlooked. A `postgres` of the data's owner that
    the kernel does not let us look into counts as one of them.
    """
    file = data / "postmaster.pid"
    if not file.exists() or any(_works_in(data, process) for process in Path("/proc").iterdir()):
        return False
    file.unlink(missing_ok=True)
    return True


def _works_in(data: Path, process: Path) -> bool:
    if not process.name.isdecimal():
        return False
    try:
        return (process / "cwd").samefile(data)
    except PermissionError:
        return _is_postgres_of(data.stat().st_uid, process)
    except OSError:
        return False  # it has ended: a dead process has no working directory


def _is_postgres_of(user: int, process: Path) -> bool:
    try:
        status = dict(line.split(":", 1) for line in (process / "status").read_text().splitlines() if ":" in line)
        return status["Name"].strip() == "postgres" and int(status["Uid"].split()[0]) == user
    except (OSError, KeyError):
        return False
