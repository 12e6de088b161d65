"""Effect of each failure: a wait, a dead letter, or a search for the failing record."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from time import monotonic
from typing import Any

import asyncpg
import httpx
import pytest
from aiokafka.errors import KafkaConnectionError, MessageSizeTooLargeError
from fastapi import Request, Response
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, ConfigDict, ValidationError, field_validator
from starlette.types import ASGIApp

from servicekit import metrics
from servicekit.error_kinds import in_words, is_outage, is_transient, permanent_reason, unavailable_as
from servicekit.errors import LogUnavailable, Permanent, RequestRefused, StartError, Unavailable, error_summary, shown
from servicekit.web.application import add_routes, application, guarded
from servicekit.web.auth import AccessToken
from servicekit.web.failures import DeadlineMiddleware
from servicekit.web.refusals import answer_of
from servicekit.web.routes import Routes
from tests.support.served import served as on_a_port
from tests.support.waits import PATIENCE_SECONDS

WAITS = [
    Unavailable("the database"),
    LogUnavailable(),
    KafkaConnectionError(),
    ConnectionResetError(),
    TimeoutError(),
    asyncpg.DiskFullError("full"),
    asyncpg.ReadOnlySQLTransactionError("read only"),
    asyncpg.QueryCanceledError("cancelled"),
    asyncpg.AdminShutdownError("shut down"),
    asyncpg.DeadlockDetectedError("deadlock"),
    asyncpg.LockNotAvailableError("locked"),
    asyncpg.TooManyConnectionsError("full"),
    asyncpg.InvalidPasswordError("rotated"),
    asyncpg.InvalidAuthorizationSpecificationError("may not log in"),
    asyncpg.InvalidCatalogNameError("renamed"),
    asyncpg.InterfaceError("closed"),
]


NOBODYS_FAULT = (
    LogUnavailable,
    asyncpg.DiskFullError,
    asyncpg.ReadOnlySQLTransactionError,
    asyncpg.TooManyConnectionsError,
    asyncpg.InvalidAuthorizationSpecificationError,
    asyncpg.InvalidCatalogNameError,
)


@pytest.mark.parametrize("error", WAITS, ids=lambda error: type(error).__name__)
def test_what_waiting_may_mend(error: Exception) -> None:
    assert is_transient(error)
    assert permanent_reason(error) is None
    assert is_outage(error) == isinstance(error, NOBODYS_FAULT)


@pytest.mark.parametrize(
    ("error", "reason"), [(Permanent("contradiction"), "contradiction"), (MessageSizeTooLargeError(), "too_large")]
)
def test_what_condemns_its_record(error: Exception, reason: str) -> None:
    assert not is_transient(error)
    assert permanent_reason(error) == reason


@pytest.mark.parametrize("error", [ValueError(), KeyError(), asyncpg.DataError("?"), asyncpg.UniqueViolationError("?")])
def test_anything_else_is_a_bug(error: Exception) -> None:
    assert not is_transient(error)
    assert permanent_reason(error) is None


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (Unavailable("the provider"), "the provider is not available"),
        (LogUnavailable("secret"), "the log does not take what is written to it"),
        (KafkaConnectionError("secret"), "the log does not answer"),
        (asyncpg.TooManyConnectionsError("secret"), "the database is short of memory or connections"),
        (asyncpg.DiskFullError("secret"), "the database's disk is full"),
        (asyncpg.LockNotAvailableError("secret"), "a lock in the database is held by somebody else"),
        (asyncpg.QueryCanceledError("secret"), "the database takes too long"),
        (asyncpg.InvalidPasswordError("secret"), "the database rejects the user or password"),
        (asyncpg.InvalidCatalogNameError("secret"), "the database is not there by its name"),
        (asyncpg.ConnectionDoesNotExistError("secret"), "the database cannot be reached"),
        (asyncpg.InterfaceError("secret"), "the database cannot be reached"),
        (ConnectionResetError("secret"), "the database cannot be reached"),
        (asyncpg.DeadlockDetectedError("secret"), "DeadlockDetectedError"),
        (ValueError("secret"), "ValueError"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_an_operator_is_told_in_words_without_the_errors_own_text(error: Exception, words: str) -> None:
    assert in_words(error) == words


def test_only_what_waiting_may_mend_becomes_unavailable() -> None:
    with pytest.raises(Unavailable) as raised, unavailable_as("the store"):
        raise asyncpg.QueryCanceledError("secret")
    assert str(raised.value) == str(Unavailable("the store", "the database takes too long"))
    with pytest.raises(ValueError, match="a bug"), unavailable_as("the store"):
        raise ValueError("a bug")


@pytest.mark.parametrize(
    ("refusal", "seconds"),
    [
        (RequestRefused(503, "Later."), "5"),
        (RequestRefused(503, "Later.", 60), "60"),
        (RequestRefused(503, "Later.", 0), "0"),
        (RequestRefused(429, "Too many.", 7), "7"),
        (RequestRefused(429, "Too many."), None),
        (RequestRefused(403, "No."), None),
    ],
)
def test_a_refusal_for_a_time_says_when_to_come_back(refusal: RequestRefused, seconds: str | None) -> None:
    answer = answer_of(refusal)
    assert answer.status_code == refusal.status
    assert answer.headers.get("retry-after") == seconds


# Requests that take too long or fail get a response of one sentence, and leave a log line.

SECRET = "what ann wrote"


async def ready() -> None:
    return None


def behind(routes: Routes, seconds: float = 10) -> ASGIApp:
    """Return an application with `routes`, as a service mounts it."""
    app = application(ready)
    add_routes(app, [routes])
    return guarded(app, AccessToken("t"), seconds=seconds)


def served(routes: Routes, seconds: float = 10) -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=httpx.ASGITransport(behind(routes, seconds)), base_url="http://here")


def public() -> Routes:
    return Routes("tests", token=False)


async def page(_: Request, status: int, why: str) -> Response:
    return Response(f"page: {why}", status)


async def test_a_route_that_hangs_gets_503_in_time_even_if_it_cannot_be_cancelled() -> None:
    routes, release = public(), asyncio.Event()

    @routes.at("GET", "/frozen", "no token")
    async def frozen() -> str:
        while True:
            try:
                await release.wait()
                return "late"
            except asyncio.CancelledError:
                continue  # as a connection that waits for a frozen server to confirm the cancellation

    guard = behind(routes, seconds=0.1)
    assert isinstance(guard, DeadlineMiddleware)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(guard), base_url="http://here") as http:
        began = monotonic()
        answer = await http.get("/frozen")
        assert monotonic() - began < PATIENCE_SECONDS
    assert len(guard._abandoned) == 1
    release.set()
    async with asyncio.timeout(PATIENCE_SECONDS):
        while guard._abandoned:
            await asyncio.sleep(0)
    assert answer.status_code == 503
    assert answer.json() == {"detail": "There was no answer within 0.1 s; send this again later."}
    assert (answer.headers["retry-after"], answer.headers["connection"]) == ("5", "close")


@pytest.mark.parametrize(
    ("error", "status", "why"),
    [
        (asyncpg.InterfaceError("secret"), 503, "The database is not available: the database cannot be reached; "),
        (KeyError("secret"), 500, "This request failed on our side; the log names it "),
    ],
)
async def test_a_page_that_fails_gets_a_page(error: Exception, status: int, why: str) -> None:
    routes = Routes("tests", token=False, page=page)

    @routes.at("GET", "/page", "any token")
    async def fails() -> None:
        raise error

    guard = behind(routes)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(guard), base_url="http://here") as http:
        answer = await http.get("/page", headers={"Authorization": "Bearer t"})
    assert answer.status_code == status
    assert answer.text.startswith(f"page: {why}")


async def test_an_answer_that_has_begun_may_take_its_time() -> None:
    routes = public()

    @routes.at("GET", "/long", "no token")
    async def long() -> StreamingResponse:
        async def lines() -> AsyncIterator[str]:
            for number in range(4):
                yield f"{number}\n"
                await asyncio.sleep(0.05)

        return StreamingResponse(lines())

    async with served(routes, seconds=0.1) as http:
        assert (await http.get("/long")).text == "0\n1\n2\n3\n"


async def test_a_failure_of_our_own_leaves_a_trace_without_anybodys_words(capsys: pytest.CaptureFixture[str]) -> None:
    routes = public()

    @routes.at("GET", "/broken/{name:segment}", "no token")
    async def broken(name: str) -> str:
        raise KeyError(SECRET)

    async with served(routes) as http:
        answer = await http.get("/broken/secret-id")
    assert answer.status_code == 500
    detail = answer.json()["detail"]
    assert detail.startswith("This request failed on our side; the log names it ")
    log = "".join(capsys.readouterr())
    assert detail.rstrip(".").split()[-1] in log
    assert "test_failures.py" in log and "broken" in log and "KeyError" in log
    assert SECRET not in log + answer.text and "secret-id" not in log
    assert metrics.HTTP_FAILURES.labels("/broken/{name}")._value.get() == 1


async def test_a_client_that_hangs_up_is_no_failure(capsys: pytest.CaptureFixture[str]) -> None:
    routes = public()

    @routes.at("POST", "/body", "no token")
    async def body(request: Request) -> None:
        await request.body()

    guard = behind(routes)
    async with on_a_port(guard) as url:
        _, writer = await asyncio.open_connection("127.0.0.1", int(url.rpartition(":")[2]))
        writer.write(b"POST /body HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nx")
        await writer.drain()
        writer.close()
        await writer.wait_closed()
        async with httpx.AsyncClient() as http:
            assert (await http.get(f"{url}/health/live")).status_code == 200
    assert "request_failed" not in "".join(capsys.readouterr())


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (Unavailable("the turn registry"), "The turn registry is not available; send this again later."),
        (asyncpg.ConnectionDoesNotExistError(SECRET), "The database is not available: the database cannot be reached;"),
        (KafkaConnectionError(SECRET), "The log is not available: the log does not answer;"),
    ],
)
async def test_what_may_pass_gets_503(error: Exception, sentence: str) -> None:
    routes = public()

    @routes.at("GET", "/down", "no token")
    async def down() -> str:
        raise error

    async with served(routes) as http:
        answer = await http.get("/down")
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")
    assert answer.json()["detail"].startswith(sentence)
    assert SECRET not in answer.text


class Inner(BaseModel):
    model_config = ConfigDict(extra="forbid")
    size: int = 0


class Body(Inner):
    inner: Inner = Inner()


async def test_an_unknown_field_is_named_unless_its_name_may_be_a_text() -> None:
    routes = public()

    @routes.at("POST", "/body", "no token")
    async def take(body: Body) -> int:
        return body.size

    async with served(routes) as http:
        answer = await http.post("/body", json={SECRET: 1, "another": 2, "inner": {SECRET: 3}, "size": "many"})
    assert answer.status_code == 422
    assert SECRET not in answer.text
    assert set(answer.json()["detail"].split("; ")) == {
        "size: Input should be a valid integer, unable to parse string as an integer",
        "inner: an unknown field",
        "an unknown field",
        "another: an unknown field",
    }


async def test_a_path_that_is_not_utf8_is_refused() -> None:
    routes = public()

    @routes.at("GET", "/of/{name:segment}", "no token")
    async def of(name: str, request: Request) -> str:
        return name

    async with served(routes) as http:
        assert (await http.get("/of/%ff")).status_code == 422
        assert json.loads((await http.get("/of/%E2%82%AC%2F%252F")).text) == "€/%2F"


async def test_a_service_that_starts_refuses_for_later_and_never_as_unknown() -> None:
    app, later, up = application(ready), Routes("tests", token=False), False

    @later.at("POST", "/public", "no token")
    @later.at("POST", "/turns/{name}", "any token")
    async def take() -> str:
        return "taken"

    guard = guarded(app, AccessToken("t"), starting=lambda: not up)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(guard), base_url="http://here") as http:
        bearer = {"Authorization": "Bearer t"}
        for path, headers in (("/turns/t1", bearer), ("/turns/t1", {}), ("/public", {}), ("/nowhere", bearer)):
            answer = await http.post(path, headers=headers)
            assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")
            assert answer.json() == {"detail": "This service is starting; send this again later."}
        assert (await http.get("/health/live")).status_code == 200
        add_routes(app, [later])
        up = True
        assert (await http.post("/turns/t1", headers=bearer)).json() == "taken"
        assert (await http.post("/turns/t1")).status_code == 401
        assert (await http.post("/nowhere", headers=bearer)).status_code == 404
        assert (await http.post("/public")).json() == "taken"


# Addresses in messages for operators contain no credentials.


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("postgresql://host:5432/db", "postgresql://host:5432/db"),
        ("postgresql://ann:s3cret@host/db", "postgresql://host/db"),
        ("postgresql://ann:s3/cret@host/db", "postgresql://host/db"),
        ("postgresql://ann:s3@cret@host/db", "postgresql://host/db"),
        ("postgres:s3cret@host/db", "host/db"),
        ("postgresql://host/db?password=s3cret", "postgresql://host/db"),
        ("mongodb://a:s3cret@one,two/db?x=1", "mongodb://one,two/db"),
    ],
)
def test_no_credentials_are_shown(address: str, expected: str) -> None:
    assert shown(f"At {address} nobody answers.") == f"At {expected} nobody answers."
    assert "s3" not in str(StartError(f"{address} is not an address of PostgreSQL."))


# Validation errors as one sentence, without what was sent.


def fault(*place: str | int, msg: str = "is wrong", kind: str = "value_error") -> dict[str, Any]:
    return {"loc": place, "msg": msg, "type": kind}


NUMBERED = [fault(f"f{number}") for number in range(7)]


FIVE = "; ".join(f"f{number}: is wrong" for number in range(5))


@pytest.mark.parametrize(
    ("faults", "said"),
    [
        ([], ""),
        ([fault("body")], "body: is wrong"),
        ([fault("query", "limit")], "limit: is wrong"),
        ([fault("a"), fault("b"), fault("a")], "a: is wrong; b: is wrong"),
        (NUMBERED[:5], FIVE),
        (NUMBERED, f"{FIVE}; and 2 more"),
        ([fault("x" * 65)], f"{'x' * 64}: is wrong"),
        ([fault("x" * 64)], f"{'x' * 64}: is wrong"),
        ([fault("name", msg="é")], r"name: \xe9"),
        ([fault("a", "what Ann wrote", kind="extra_forbidden")], "a: an unknown field"),
        ([fault("body", "a", "agnt_id", kind="extra_forbidden")], "a.agnt_id: an unknown field"),
        ([fault("query", "attributes.lang", kind="extra_forbidden")], "attributes.lang: an unknown field"),
    ],
)
def test_the_first_five_rules_are_named_once_each(faults: Sequence[Any], said: str) -> None:
    assert error_summary(faults) == said


class Even(BaseModel):
    model_config = ConfigDict(extra="forbid")

    number: int

    @field_validator("number")
    @classmethod
    def _is_even(cls, number: int) -> int:
        if number % 2:
            raise ValueError("the number must be even")
        return number


def test_a_rule_of_our_own_is_said_as_it_is() -> None:
    with pytest.raises(ValidationError) as raised:
        Even.model_validate({"number": 3, "what Ann wrote": 1})
    assert error_summary(raised.value.errors()) == "number: the number must be even; an unknown field"
