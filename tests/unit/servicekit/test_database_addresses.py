"""Database addresses: printable form without the password, and immediate rejection of invalid ones."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from servicekit.db.pools import open_pool
from servicekit.errors import StartError, shown


def test_neither_password_nor_options_show() -> None:
    assert shown("postgresql://ann:hush@db/x?password=hush&sslmode=require") == "postgresql://db/x"


async def test_an_address_that_names_no_authority_is_refused_and_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))  # the default folder of the authority's certificate
    with pytest.raises(StartError, match="TLS"):
        async with asyncio.timeout(20):
            await open_pool("postgresql://127.0.0.1:1/x?sslmode=verify-full", "nothing", tmp_path / "schema.sql")
