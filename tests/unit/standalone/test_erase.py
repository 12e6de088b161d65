"""The command `erase` and the services' responses to it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import pytest
from typer.testing import CliRunner, Result

from contracts.scopes import ALL_SCOPES
from reporting.access.keys import NewKey
from servicekit.web.auth import Caller
from standalone.cli import erase
from standalone.cli.app import app
from standalone.cli.erase import segment_of
from standalone.operations import keys as operations
from tests.support.command import Ended, agent_feedback_here

DONE = {"request_id": "r/1", "complete": True, "receipts": [], "missing": []}


Answer = Callable[[httpx.Request], httpx.Response]


class Service:
    """Service that accepts an erasure and has confirmed it at the question number `looks`."""

    def __init__(self, looks: int = 1) -> None:
        self._looks = looks
        self.asked: list[tuple[str, str]] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        assert request.headers["authorization"] == "Bearer t0k3n"
        self.asked.append((request.method, request.url.raw_path.decode()))
        if request.method == "DELETE":
            return httpx.Response(202, json={"request_id": "r/1"})
        if len(self.asked) <= self._looks:
            return httpx.Response(404, json={"detail": "There is no such request."})
        return httpx.Response(200, json=DONE)


def erased(answer: Answer, *more: str, typed: str = "") -> Result:
    place = ["--url", "http://services", "--token", "t0k3n", "--tenant", "acme"]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(httpx, "Client", partial(httpx.Client, transport=httpx.MockTransport(answer)))
        patched.setattr(erase, "_BETWEEN_LOOKS", 0)
        return CliRunner().invoke(app, ["erase", *place, *more], input=typed)


def test_the_status_of_a_request_erases_nothing() -> None:
    service = Service(looks=0)
    ended = erased(service, "--status", "r/1", "--json")
    assert (ended.exit_code, json.loads(ended.stdout)) == (0, DONE)
    assert service.asked == [("GET", "/tenants/acme/erasures/r%2F1")]


@pytest.mark.parametrize(("typed", "code"), [("y\n", 0), ("n\n", 1), ("", 1)])
def test_an_erasure_is_confirmed_first(typed: str, code: int) -> None:
    service = Service()
    ended = erased(service, "--user", "eve", typed=typed)
    assert ended.exit_code == code
    assert "Erase everything that eve has said in acme? This cannot be undone. [y/N]" in ended.stderr
    assert ("Aborted." in ended.stderr, "Request" in ended.stdout) == (bool(code), not code)
    assert bool(service.asked) is not bool(code)


@pytest.mark.parametrize(("option", "said"), [("--no-training", "forbidden"), ("--training", "allowed")])
def test_a_choice_about_training_erases_nothing(option: str, said: str) -> None:
    asked: list[tuple[str, str, Any]] = []

    def accept(request: httpx.Request) -> httpx.Response:
        asked.append((request.method, request.url.path, json.loads(request.content)))
        return httpx.Response(202, content=b"null")

    ended = erased(accept, "--user", "eve", option)
    assert ended.exit_code == 0 and said in ended.output
    assert asked == [("PUT", "/tenants/acme/users/eve/training", {"allowed": said == "allowed"})]
    assert erased(accept, "--status", "r/1", option).exit_code == 2


@pytest.mark.parametrize("options", [[], ["--user", "eve", "--status", "r"]])
def test_either_a_user_or_a_request_is_named(options: list[str]) -> None:
    service = Service()
    ended = erased(service, *options, "--yes")
    assert (ended.exit_code, service.asked) == (2, [])
    assert "Give either --user (to erase a user) or --status (to follow a request)." in ended.stderr


def down(_: httpx.Request) -> httpx.Response:
    raise httpx.ReadTimeout("late")


@pytest.mark.parametrize(
    ("answer", "code", "said"),
    [
        (down, 3, "http://services does not answer (ReadTimeout)."),
        (
            lambda _: httpx.Response(404, json={"detail": "There is no tenant acme."}), 1,
            "http://services/ rejects the request with 404: There is no tenant acme.",
        ),
        (lambda _: httpx.Response(500), 1, "http://services/ rejects the request with 500: it gave no reason."),
    ],
)  # fmt: skip
def test_a_refusal_is_told_in_a_sentence(answer: Answer, code: int, said: str) -> None:
    ended = erased(answer, "--user", "eve", "--yes", "--wait", "0")
    assert (ended.exit_code, ended.stdout, ended.stderr.strip()) == (code, "", said)


def test_without_waiting_the_request_is_incomplete() -> None:
    ended = erased(Service(looks=9), "--user", "eve", "--yes", "--wait", "0")
    assert ended.exit_code == 1
    lines = [" ".join(line.split()) for line in ended.stdout.splitlines()]
    assert lines == ["Request r/1: not complete yet.", "service confirmed rows removed", "feedback not yet"]


@pytest.mark.parametrize(
    ("id_", "segment"),
    [("ann", "ann"), (".", "%2E"), ("..", "%2E%2E"), ("...", "..."), ("a/b c", "a%2Fb%20c"), ("é", "%C3%A9")],
)
def test_an_id_is_one_segment_of_a_path(id_: str, segment: str) -> None:
    assert segment_of(id_) == segment


def test_the_token_and_the_address_are_those_of_the_run_unless_given(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AGENT_FEEDBACK_TOKEN", raising=False)
    asked: list[tuple[str, str]] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append((str(request.url.copy_with(path="/")), request.headers["authorization"]))
        return httpx.Response(200, json=DONE)

    def ended(*more: str) -> Result:
        with monkeypatch.context() as patched:
            patched.setattr(httpx, "Client", partial(httpx.Client, transport=httpx.MockTransport(answer)))
            return CliRunner().invoke(app, ["erase", "--tenant", "a", "--status", "r", "--state", str(tmp_path), *more])

    nothing = ended()
    assert nothing.exit_code == 3
    assert nothing.stderr.strip() == (
        f"Nothing runs on {tmp_path}: start it with `agent-feedback up`. Or give a URL with --url."
    )
    assert ended("--url", "http://other").exit_code == 2, "a URL needs a token"
    (tmp_path / "run.json").write_text(json.dumps({"url": "http://run/", "token": "own"}))
    for more in ((), ("--token", "mine"), ("--token", "mine", "--url", "http://other")):
        assert ended(*more).exit_code == 0
    assert asked == [("http://run/", "Bearer own"), ("http://run/", "Bearer mine"), ("http://other/", "Bearer mine")]


# The commands for keys: their output.

ME = Caller("me", scopes=ALL_SCOPES)


DAY = 86_400_000_000


class Tables:
    """Keys in memory."""

    def __init__(self) -> None:
        self.changes: list[tuple[Any, ...]] = []
        self.keys: list[dict[str, Any]] = []

    async def list(self, caller: Caller) -> list[dict[str, Any]]:
        assert caller == ME
        return self.keys

    async def add(self, name: str, *values: Any) -> NewKey:
        self.changes.append(("add", name, *values))
        return NewKey("s3cret", name.strip())

    async def revoke(self, id_: str, caller: Caller) -> str:
        self.changes.append(("revoke", id_, caller))
        return "crm"


@pytest.fixture
def tables(monkeypatch: pytest.MonkeyPatch) -> Tables:
    stored = Tables()

    @asynccontextmanager
    async def open_keys(_: str | None, __: object) -> AsyncIterator[Tables]:
        yield stored

    monkeypatch.setattr(operations, "open_keys", open_keys)
    monkeypatch.setattr(operations, "operator", lambda: ME)
    return stored


def command(state: Path, *arguments: str) -> Ended:
    return agent_feedback_here(*arguments, "--state", state)


def lines(text: str) -> list[str]:
    return [" ".join(line.split()) for line in text.splitlines()]


def test_a_key_is_printed_once(tables: Tables, tmp_path: Path) -> None:
    scopes = ("--scope", "read", "--scope", "detect", "--project", "acme/*")
    ended = command(tmp_path, "keys", "add", " crm ", *scopes)
    assert (ended.code, ended.out) == (0, "s3cret\n")
    assert ended.err == "Keep this key: it is not stored and cannot be shown again.\n"
    assert tables.changes == [("add", " crm ", ["read", "detect"], ["acme/*"], "365", ME)]
    as_json = command(tmp_path, "keys", "add", "crm", *scopes, "--days", "7", "--json")
    assert (as_json.facts, as_json.err) == ({"name": "crm", "key": "s3cret"}, "")
    assert tables.changes[-1][4] == "7"


def test_a_key_is_revoked(tables: Tables, tmp_path: Path) -> None:
    ended = command(tmp_path, "keys", "revoke", "k-1")
    assert (ended.code, ended.err) == (0, "The key crm is revoked.\n")
    assert tables.changes == [("revoke", "k-1", ME)]


def test_keys_are_listed_without_their_secrets(tables: Tables, tmp_path: Path) -> None:
    none = command(tmp_path, "keys", "list")
    assert "There are no keys yet" in none.out
    projects = ["acme/sales", "acme/support"]
    one = {"id": UUID(int=1), "name": "crm", "scopes": ["read", "detect"], "used_at": None, "expires_at": 30 * DAY}
    other = {"id": UUID(int=2), "name": "bi", "scopes": [], "used_at": 5 * DAY, "expires_at": 31 * DAY}
    tables.keys += [{**key, "projects": projects, "is_revoked": False} for key in (one, other)]
    shown = "\n".join(lines(command(tmp_path, "keys", "list").out))
    assert "id name scopes projects expires last used" in shown
    found = json.loads(command(tmp_path, "keys", "list", "--json").out)
    assert found[0] == {
        "id": str(one["id"]), "name": "crm", "scopes": ["read", "detect"], "projects": ["acme/sales", "acme/support"],
        "expires_at": "1970-01-31T00:00:00.000000Z", "used_at": None,
    }  # fmt: skip
    assert found[1]["used_at"] == "1970-01-06T00:00:00.000000Z"
