"""A small disk in memory for a database's tables, which can be filled without affecting others."""

from __future__ import annotations

import asyncio
import os
import tempfile
from pathlib import Path

import asyncpg

DISK_BYTES = 1024**3


async def mount(connection: asyncpg.Connection, server: int) -> Path | None:
    """Mount a small disk and create all later tables there; None if this user may not mount.

    `server` is the id of the database's process, whose user must own the disk.
    """
    disk = Path(tempfile.mkdtemp(prefix="chaos-disk-", dir="/tmp"))
    if await _run("mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES},mode=755", "tmpfs", str(disk)):
        disk.rmdir()
        return None
    space = disk / "tables"
    space.mkdir(mode=0o700)
    owner = Path(f"/proc/{server}").stat()
    os.chown(space, owner.st_uid, owner.st_gid)
    await connection.execute(f"create tablespace small location '{space}'")
    await change_setting(connection, "default_tablespace", "small")
    return disk


async def unmount(disk: Path) -> None:
    """Unmount the disk after the database has stopped."""
    await _run("umount", str(disk))
    disk.rmdir()


async def change_setting(connection: asyncpg.Connection, name: str, value: str) -> None:
    """Change a setting of the whole server, also for open connections."""
    await connection.execute(f"alter system set {name} = '{value}'")
    await connection.execute("select pg_reload_conf()")


async def _run(*command: str) -> int:
    process = await asyncio.create_subprocess_exec(*command)
    return await process.wait()
