"""The making of a new database, and what PostgreSQL's programs are given and complain of."""

import os
import shutil
import signal
from pathlib import Path
from typing import Final

from servicekit.embedded.children import end, ended, spawn
from servicekit.embedded.postgres_home import EmbeddedPostgresError, PostgresHome, hand_over

_INITDB: Final = ("-A", "trust", "-E", "utf8", "-U", "postgres", "--data-checksums")
# One order of texts everywhere, whatever the language of the machine.
_LOCALE: Final = ("--no-locale", "--locale-provider=builtin", "--builtin-locale=C.UTF-8")
_INITDB_SECONDS: Final = 120.0


async def initialise(home: PostgresHome) -> None:
    """Make the database in `home.data`, whole or not at all.

    Raises:
        EmbeddedPostgresError: initdb failed.
    """
    # Made beside and renamed: a directory that initdb left half made would look like a database.
    made = home.data.with_name(f"{home.data.name}.new")
    shutil.rmtree(made, ignore_errors=True)
    made.mkdir(parents=True)
    output = home.data.with_name(f"{home.data.name}.initdb.log")
    try:
        hand_over(made, home.account)
        with output.open("wb") as log:
            process = spawn(
                [home.programs / "initdb", *_INITDB, *_LOCALE, "-D", made],
                output=log,
                environment=environment(),
                account=home.account,
                on_our_death=signal.SIGKILL,
            )
        try:
            await ended(process, _INITDB_SECONDS)
        finally:
            await end(process, [(signal.SIGKILL, 5.0)])
        if process.returncode != 0:
            raise EmbeddedPostgresError(f"PostgreSQL could not make {home.data}: {reason_in(output)}")
        made.rename(home.data)
    finally:
        shutil.rmtree(made, ignore_errors=True)
        output.unlink(missing_ok=True)


def environment() -> dict[str, str]:
    """What PostgreSQL's programs see of our environment."""
    # PGDATA and its like would reach the server, and its messages must be in the language that we read.
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PG", "LC_", "LANG"))}
    return {**kept, "LC_ALL": "C"}


def reason_in(log: Path) -> str:
    """The last complaint in a log, without its time stamp; its last line when there is none."""
    lines = [line.strip() for line in log.read_text(errors="replace").splitlines() if line.strip()]
    for line in reversed(lines):
        for mark in ("PANIC:", "FATAL:", "error:"):
            if mark in line:
                return line.partition(mark)[2].strip()
    return lines[-1] if lines else "it left no message"
