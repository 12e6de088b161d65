"""The commands for accounts and keys: their output, and the entries that they leave in the access log."""

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

from reporting.access.accounts import OperatorAccount
from reporting.access.keys import ApiKey, RevokedKey
from reporting.access.roles import ALL, ProjectSet
from servicekit.errors import RequestRefused
from standalone.operations import users
from standalone.operations.users import EVERYWHERE, AccessTables, operator
from tests.support.command import Ended, agent_feedback_here

ACME = ProjectSet("acme", ("sales", "support"))
ANN = OperatorAccount("ann", "reader", ACME, 0, "tom", None, None)
DAY = 86_400_000_000


class Tables:
    """Accounts, keys and the access log in memory."""

    def __init__(self) -> None:
        self.done: list[tuple[Any, ...]] = []
        self.noted: list[tuple[Any, ...]] = []
        self.accounts: list[OperatorAccount] = []
        self.keys: list[ApiKey] = []
        self.opened: list[str | None] = []

    async def find(self, name: str, access: ProjectSet) -> OperatorAccount:
        if name.lower() != "ann":
            raise RequestRefused(404, "There is no account bob.")
        return ANN

    async def add(self, name: str, *given: Any) -> str:
        self.done.append(("add", name, *given))
        return "s3cret"

    async def note(self, *given: Any) -> None:
        self.noted.append(given)

    async def revoke(self, id_: str, access: ProjectSet) -> RevokedKey:
        self.done.append(("revoke", id_, access))
        return RevokedKey("crm", "acme")

    def __getattr__(self, name: str) -> Any:
        async def change(*given: Any) -> str:
            self.done.append((name, *given))
            return "l1nk"

        return change


class Listed:
    def __init__(self, tables: Tables, found: list[Any]) -> None:
        self._tables, self._found = tables, found

    async def list(self, access: ProjectSet) -> list[Any]:
        assert access == EVERYWHERE
        return self._found

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tables, name)


@pytest.fixture
def tables(monkeypatch: pytest.MonkeyPatch) -> Tables:
    found = Tables()
    accounts: Any = Listed(found, found.accounts)
    keys: Any = Listed(found, found.keys)
    log: Any = found

    @asynccontextmanager
    async def open_access(database: str | None, _: object) -> AsyncIterator[AccessTables]:
        found.opened.append(database)
        yield AccessTables(accounts, keys, log)

    monkeypatch.setattr(users, "open_access", open_access)
    monkeypatch.setattr(users, "operator", lambda: "me")
    return found


def command(state: Path, *arguments: str) -> Ended:
    return agent_feedback_here(*arguments, "--state", state)


def lines(text: str) -> list[str]:
    return [" ".join(line.split()) for line in text.splitlines()]


PAGES = ("--url", "https://pages.example.org")


def test_an_account_is_added_and_its_link_printed(tables: Tables, tmp_path: Path) -> None:
    ended = command(tmp_path, "users", "add", " Ann ", "--project", "acme/support", "--role", "admin", *PAGES)
    assert ended.code == 0, ended.err
    assert tables.done == [("add", " Ann ", "admin", ["acme/support"], EVERYWHERE, "me")]
    assert tables.noted == [("me", "acme", None, "changed access", "account ann: added as admin")]
    assert ended.out.startswith("https://pages.example.org/") and ended.out.rstrip().endswith("s3cret")
    assert "Send this link to  Ann . It sets the password, once, within 2 days." in ended.err
    as_json = command(tmp_path, "users", "add", "ann", "--project", "acme/support", *PAGES, "--json")
    assert (as_json.facts, as_json.err) == ({"name": "ann", "link": ended.out.strip()}, "")
    assert tables.done[-1][2] == "reader", "the role with the fewest rights"


def test_a_link_is_made_on_the_pages_of_the_run(tables: Tables, tmp_path: Path) -> None:
    nothing = command(tmp_path, "users", "link", "ann")
    assert (nothing.code, tables.done) == (2, [])
    assert "Nothing runs on the state folder: give the address of the pages with --url." in nothing.err
    wrong = command(tmp_path, "users", "link", "ann", "--url", "pages.example.org")
    assert (wrong.code, "--url is the address of the pages" in wrong.err) == (2, True)
    (tmp_path / "run.json").write_text(json.dumps({"url": "http://127.0.0.1:1/", "database": "postgresql://run"}))
    ended = command(tmp_path, "users", "link", "ann")
    assert ended.out.startswith("http://127.0.0.1:1/") and ended.out.rstrip().endswith("l1nk")
    assert tables.opened == ["postgresql://run"]
    assert tables.noted[-1][-1] == "account ann: link"


@pytest.mark.parametrize("action", ["disable", "enable", "remove"])
def test_a_change_of_an_account_is_told_and_noted(tables: Tables, tmp_path: Path, action: str) -> None:
    ended = command(tmp_path, "users", action, "ANN")
    done = f"{action.rstrip('e')}ed"
    assert (ended.code, ended.out, ended.err) == (0, "", f"ANN is {done}.\n")
    assert tables.done == [(action, "ann", EVERYWHERE)]
    assert tables.noted == [("me", "acme", None, "changed access", f"account ann: {done}")]
    refused = command(tmp_path, "users", action, "bob")
    assert (refused.code, refused.err) == (1, "There is no account bob.\n")
    assert len(tables.done) == 1


def test_accounts_are_listed(tables: Tables, tmp_path: Path) -> None:
    nobody = command(tmp_path, "users", "list")
    assert " ".join(nobody.out.split()) == "There are no accounts yet: `agent-feedback users add NAME --project T/P`."
    tom = OperatorAccount("t[/b]m", "admin", ProjectSet(ALL, (ALL,)), 0, "x", 0, 5, "https://issuer")
    tables.accounts += [ANN, tom]
    shown = lines(command(tmp_path, "users", "list").out)
    assert shown == [
        "name role projects state sign-in", f"ann reader acme/sales acme/support {ANN.state} password",
        "t[/b]m admin */* disabled identity provider",
    ]  # fmt: skip
    first, second = json.loads(command(tmp_path, "users", "list", "--json").out)
    assert first == {
        "name": "ann", "role": "reader", "projects": ["acme/sales", "acme/support"], "state": ANN.state,
        "sign_in": "password",
    }  # fmt: skip
    assert (second["state"], second["sign_in"]) == ("disabled", "identity provider")


def test_a_key_is_printed_once_and_noted(tables: Tables, tmp_path: Path) -> None:
    scopes = ("--scope", "read", "--scope", "detect", "--project", "acme/*")
    ended = command(tmp_path, "keys", "add", " crm ", *scopes)
    assert (ended.code, ended.out) == (0, "s3cret\n")
    assert ended.err == "Keep this key: it is not stored and cannot be shown again.\n"
    assert tables.done == [("add", " crm ", ["read", "detect"], ["acme/*"], "365", EVERYWHERE, "me")]
    assert tables.noted == [("me", "acme", None, "changed access", "key crm: created")]
    as_json = command(tmp_path, "keys", "add", "crm", *scopes, "--days", "7", "--json")
    assert (as_json.facts, as_json.err) == ({"name": "crm", "key": "s3cret"}, "")
    assert tables.done[-1][4] == "7"


def test_a_key_is_revoked(tables: Tables, tmp_path: Path) -> None:
    ended = command(tmp_path, "keys", "revoke", "k-1")
    assert (ended.code, ended.err) == (0, "The key crm is revoked.\n")
    assert tables.done == [("revoke", "k-1", EVERYWHERE)]
    assert tables.noted == [("me", "acme", None, "changed access", "key crm: revoked")]


def test_keys_are_listed_without_their_secrets(tables: Tables, tmp_path: Path) -> None:
    none = command(tmp_path, "keys", "list")
    assert "There are no keys yet" in none.out
    one = ApiKey(UUID(int=1), "crm", ACME, ("read", "detect"), 0, "me", 30 * DAY, None)
    other = ApiKey(UUID(int=2), "bi", ACME, (), 0, "me", 31 * DAY, 5 * DAY)
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
    tables.keys.append(ApiKey(UUID(int=1), "crm", ACME, ("read",), 0, "me", 30 * DAY, None))
    tables.keys.append(ApiKey(UUID(int=2), "bi", ACME, (), 0, "me", 30 * DAY, 5 * DAY))
    assert lines(command(tmp_path, "keys", "list").out)[1:] == [
        f"{UUID(int=1)} crm read acme/sales acme/support 1970-01-31 never",
        f"{UUID(int=2)} bi acme/sales acme/support 1970-01-31 1970-01-06",
    ]


def test_a_change_is_by_the_user_of_the_system(monkeypatch: pytest.MonkeyPatch) -> None:
    assert operator() == f"command line: {pwd.getpwuid(os.getuid()).pw_name}"
    monkeypatch.setattr(pwd, "getpwuid", {}.__getitem__)
    assert operator() == "command line"
