"""Databases for the index of turns: with pgvector, and without."""

from __future__ import annotations

import asyncpg

PLAIN = "plain_vectors"


async def url_without_pgvector(url: str) -> str:
    """Return the address of a database on the same server, for a user who may not create extensions in it."""
    connection = await asyncpg.connect(url)
    try:
        if not await connection.fetchval("select exists (select from pg_database where datname = $1)", PLAIN):
            await connection.execute(f"create role {PLAIN} login")
            await connection.execute(f"create database {PLAIN} owner {PLAIN}")
    finally:
        await connection.close()
    return url.replace("//postgres@/postgres?", f"//{PLAIN}@/{PLAIN}?")
