"""The commands for keys: their output, and the entries that they leave in the access log."""

from __future__ import annotations

import json
import os
import pwd
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from contracts.scopes import ALL_SCOPES
from reporting.access.keys import ApiKey, Maker, NewKey, RevokedKey
from servicekit.web.projects import ProjectSet
from standalone.operations import keys as operations
from standalone.operations.keys import EVERYWHERE, KeyTables, operator
from tests.support.command import Ended, agent_feedback_here

ACME = ProjectSet("acme", ("sales", "support"))
ME = Maker("me", ALL_SCOPES, EVERYWHERE)
DAY = 86_400_000_000


class Tables:
    """Keys and the access log in memory."""

    def __init__(self) -> None:
        self.changes: list[tuple[Any, ...]] = []
        self.entries: list[tuple[Any, ...]] = []
        self.keys: list[ApiKey] = []

    async def list(self, access: ProjectSet) -> list[ApiKey]:
        assert access == EVERYWHERE
        return self.keys

    async def add(self, name: str, *values: Any) -> NewKey:
        self.changes.append(("add", name, *values))
        return NewKey("s3cret", name.strip(), "acme")

    async def renew(self, id_: str, days: str, maker: Maker) -> NewKey:
        self.changes.append(("renew", id_, days, maker))
        return NewKey("n3w", "crm", "acme")

    async def revoke(self, id_: str, access: ProjectSet) -> RevokedKey:
        self.changes.append(("revoke", id_, access))
        return RevokedKey("crm", "acme")

    async def note(self, *entry: Any) -> None:
        self.entries.append(entry)


@pytest.fixture
def tables(monkeypatch: pytest.MonkeyPatch) -> Tables:
    stored = Tables()
    keys: Any = stored
    log: Any = stored

    @asynccontextmanager
    async def open_keys(_: str | None, __: object) -> AsyncIterator[KeyTables]:
        yield KeyTables(keys, log)

    monkeypatch.setattr(operations, "open_keys", open_keys)
    monkeypatch.setattr(operations, "operator", lambda: "me")
    return stored


def command(state: Path, *arguments: str) -> Ended:
    return agent_feedback_here(*arguments, "--state", state)


def lines(text: str) -> list[str]:
    return [" ".join(line.split()) for line in text.splitlines()]


def test_a_key_is_printed_once_and_noted(tables: Tables, tmp_path: Path) -> None:
    scopes = ("--scope", "read", "--scope", "detect", "--project", "acme/*")
    ended = command(tmp_path, "keys", "add", " crm ", *scopes)
    assert (ended.code, ended.out) == (0, "s3cret\n")
    assert ended.err == "Keep this key: it is not stored and cannot be shown again.\n"
    assert tables.changes == [("add", " crm ", ["read", "detect"], ["acme/*"], "365", ME)]
    assert tables.entries == [("me", "acme", None, "changed access", "key crm: created with detect read")]
    as_json = command(tmp_path, "keys", "add", "crm", *scopes, "--days", "7", "--json")
    assert (as_json.facts, as_json.err) == ({"name": "crm", "key": "s3cret"}, "")
    assert tables.changes[-1][4] == "7"


def test_a_key_is_renewed(tables: Tables, tmp_path: Path) -> None:
    ended = command(tmp_path, "keys", "renew", "k-1", "--days", "30")
    assert (ended.code, ended.out) == (0, "n3w\n")
    assert "Keep this key of crm" in ended.err
    assert tables.changes == [("renew", "k-1", "30", ME)]
    assert tables.entries == [("me", "acme", None, "changed access", "key crm: renewed")]


def test_a_key_is_revoked(tables: Tables, tmp_path: Path) -> None:
    ended = command(tmp_path, "keys", "revoke", "k-1")
    assert (ended.code, ended.err) == (0, "The key crm is revoked.\n")
    assert tables.changes == [("revoke", "k-1", EVERYWHERE)]
    assert tables.entries == [("me", "acme", None, "changed access", "key crm: revoked")]


def test_keys_are_listed_without_their_secrets(tables: Tables, tmp_path: Path) -> None:
    none = command(tmp_path, "keys", "list")
    assert "There are no keys yet" in none.out
    one = ApiKey(UUID(int=1), "crm", ACME, ("read", "detect"), 0, "me", 30 * DAY, None, False)
    other = ApiKey(UUID(int=2), "bi", ACME, (), 0, "me", 31 * DAY, 5 * DAY, False)
    tables.keys += [one, other]
    shown = "\n".join(lines(command(tmp_path, "keys", "list").out))
    assert "id name scopes projects expires last used" in shown
    found = json.loads(command(tmp_path, "keys", "list", "--json").out)
    assert found[0] == {
        "id": str(one.id), "name": "crm", "scopes": ["read", "detect"], "projects": ["acme/sales", "acme/support"],
        "expires_at": "1970-01-31T00:00:00.000000Z", "used_at": None,
    }  # fmt: skip
    assert found[1]["used_at"] == "1970-01-06T00:00:00.000000Z"


def test_the_table_of_keys_shows_days(tables: Tables, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    tables.keys.append(ApiKey(UUID(int=1), "crm", ACME, ("read",), 0, "me", 30 * DAY, None, False))
    tables.keys.append(ApiKey(UUID(int=2), "bi", ACME, (), 0, "me", 30 * DAY, 5 * DAY, True))
    assert lines(command(tmp_path, "keys", "list").out)[1:] == [
        f"{UUID(int=1)} crm read acme/sales acme/support 1970-01-31 never",
        f"{UUID(int=2)} bi acme/sales acme/support revoked 1970-01-06",
    ]


def test_a_change_is_by_the_user_of_the_system(monkeypatch: pytest.MonkeyPatch) -> None:
    assert operator() == f"command line: {pwd.getpwuid(os.getuid()).pw_name}"
    monkeypatch.setattr(pwd, "getpwuid", {}.__getitem__)
    assert operator() == "command line"
