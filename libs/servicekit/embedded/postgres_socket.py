"""The directory of an embedded PostgreSQL's socket, and the address that clients reach it at."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final
from urllib.parse import quote

from servicekit.embedded.postgres_home import EmbeddedPostgresError, PostgresHome, can_reach, hand_over

PORT: Final = 5432
"""It names the socket file, and nothing listens on a network port of that number."""

# A unix socket's whole path is limited to 107 bytes.
_DIRECTORY_BYTES: Final = 107 - len(f"/.s.PGSQL.{PORT}")


@contextmanager
def socket_directory(home: PostgresHome) -> Iterator[Path]:
    """A directory for the socket, open to its user and root alone: the data directory, or a short one where needed.

    Raises:
        EmbeddedPostgresError: no temporary directory is short enough and can be entered by the user.
    """
    if _is_fit(home.data):
        yield home.data
        return
    for above in dict.fromkeys([tempfile.gettempdir(), "/tmp", "/var/tmp"]):  # noqa: S108  # only mkdtemp writes there
        if not os.access(above, os.W_OK) or not can_reach(home.account, Path(above)):
            continue
        made = Path(tempfile.mkdtemp(prefix="agent-feedback-", dir=above))
        try:
            if _is_fit(made):
                hand_over(made, home.account)
                yield made
                return
        finally:
            shutil.rmtree(made, ignore_errors=True)
    raise EmbeddedPostgresError(f"No temporary directory has room for a socket's short path; {home.data} is too long.")


def _is_fit(directory: Path) -> bool:
    # A comma would begin a second path, for PostgreSQL and for its clients.
    return len(os.fsencode(directory)) <= _DIRECTORY_BYTES and "," not in str(directory)


def url_of(directory: Path) -> str:
    """The address of the server whose socket is in `directory`, as asyncpg reads it."""
    # The port is named because clients would otherwise take it from PGPORT, where that is set.
    return f"postgresql://postgres@/postgres?host={quote(str(directory), safe='/')}&port={PORT}"
