"""PostgreSQL's own programs for backups, run as the user that owns the data."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from standalone.embedded.postgres_home import find_home, hand_over


def folder_for(parent: Path, name: str) -> Path:
    """Return a new folder in `parent` that PostgreSQL's user owns."""
    folder = parent / name
    folder.mkdir()
    hand_over(folder, find_home(parent / "unused").account)
    return folder


async def pg(program: str, url: str, *arguments: str | Path) -> str:
    """Run a program of PostgreSQL 18 against the server at `url`; return its output. Fails unless it ends with 0."""
    asked = parse_qs(urlsplit(url).query)
    home = find_home(Path(asked["host"][0]))
    process = await asyncio.create_subprocess_exec(
        *(home.programs / program, "-h", asked["host"][0], "-p", asked["port"][0], "-U", "postgres"),
        *map(str, arguments),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        cwd="/",
        env={"PATH": os.environ["PATH"], "LC_ALL": "C"},
        user=home.account.uid if home.account else None,
        group=home.account.gid if home.account else None,
        extra_groups=[] if home.account else None,
    )
    out, err = await process.communicate()
    assert process.returncode == 0, f"{program}: {err.decode()}"
    return out.decode()
