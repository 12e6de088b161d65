"""The whole HTTP application against its own OpenAPI document: fuzzed, and with malformed requests."""

from __future__ import annotations

import asyncio
import os
from typing import Any

import httpx
import hypothesis
import pytest
import schemathesis
from hypothesis import strategies as st
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tests.support.running_stack import RunningStack, exchange
from tests.support.served import served

schemathesis.serializer.alias("application/x-ndjson", "text/plain")
EXAMPLES = int(os.environ.get("OPENAPI_EXAMPLES", "4"))
"""Number of requests per route and kind, valid and invalid; an intake gets five times as many. CI sends more."""
CHECKS = [not_a_server_error, content_type_conformance, status_code_conformance, response_schema_conformance]
AUTHORIZED = {"Authorization": "Bearer all"}
INTAKE = (
    "/conversations/{tenant}/{project}/{conversation_id}/turns/{turn_id}/feedback",
    "/ingest/{tenant}/{project}/events",
)
KNOWN = {"tenant": "acme", "project": "support", "conversation_id": "c-42", "turn_id": "t-7"}
PLACES = {f"{{{name}}}": value for name, value in KNOWN.items()}
HOSTILE_BODIES = {
    "nothing": b"",
    "no JSON": b"{",
    "not UTF-8": b'{"reaction": "\xff\xfe"}',
    "NUL": b'{"reaction": "ok", "text": "\\u0000", "\\u0000": 1}',
    "a bare NUL": b"\x00",
    "lone surrogates": b'{"reaction": "\\ud800", "\\udfff": "\\ud83d"}',
    "a huge integer": b'{"reaction": ' + b"9" * 5_000 + b', "days": ' + b"9" * 400 + b', "limit": -1e400}',
    "no numbers": b'{"reaction": NaN, "days": Infinity, "limit": -Infinity}',
    "deep lists": b"[" * 20_000,
    "deep objects": b'{"reaction":' * 3_000 + b"1" + b"}" * 3_000,
    "the same name twice": b'{"reaction": "ok", "reaction": null, "days": 1, "days": []}',
    "a byte order mark": b'\xef\xbb\xbf{"reaction": "ok"}',
    "UTF-16": '{"reaction": "ok"}'.encode("utf-16"),
    "a list": b"[]",
    "a string": b'"ok"',
    "null": b"null",
    "too much": b" " * 70_000,
}
MEDIA_TYPES = ("application/json", "application/x-ndjson")
"""What the routes accept."""
OTHER_MEDIA_TYPES = (
    "text/plain",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x",
    "application/json; charset=utf-16",
    "\xff/\x80",
    "",
)


async def described(stack: RunningStack) -> dict[str, Any]:
    async with stack.client() as http:
        answer = await http.get("/openapi.json")
    assert answer.status_code == 200
    document: dict[str, Any] = answer.json()
    return document


def fuzz(description: dict[str, Any], url: str, examples: int = EXAMPLES) -> tuple[int, list[str]]:
    """Return the number of routes tried and the errors found.

    Valid requests, and every second invalid one, name the turn that exists: routes reject an unknown turn before they
    do anything.
    """
    schema = schemathesis.openapi.from_dict(description)
    tried, faults = 0, list[str]()
    operations: Any = schema.get_all_operations()
    for result in operations:
        operation = result.ok()
        tried += 1
        for mode in schemathesis.GenerationMode:
            try:
                is_known = st.just(True) if mode is schemathesis.GenerationMode.POSITIVE else st.booleans()
                _try(operation, st.tuples(operation.as_strategy(generation_mode=mode), is_known), url, examples)
            except hypothesis.errors.Unsatisfiable:
                continue
            except BaseException as error:
                faults.append(f"{operation.label} ({mode.value}): {error}")
    return tried, faults


def _try(operation: Any, strategy: Any, url: str, examples: int) -> None:
    @hypothesis.settings(
        max_examples=examples * (5 if operation.path in INTAKE else 1),
        deadline=None,
        database=None,
        derandomize=True,
        phases=[hypothesis.Phase.generate],
        report_multiple_bugs=False,
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    @hypothesis.given(strategy)
    def inner(tried: tuple[Any, bool]) -> None:
        case, is_known = tried
        if is_known:
            case.path_parameters |= {name: KNOWN[name] for name in case.path_parameters if name in KNOWN}
        response = case.call(base_url=url, headers=AUTHORIZED, timeout=20)
        if response.status_code == 431:  # the server's own, before any route
            return
        if not (response.status_code == 404 and response.json() == {"detail": "Not Found"}):  # no route has that path
            case.validate_response(response, checks=CHECKS)

    inner()


async def test_fuzzed(stack: RunningStack) -> None:
    await stack.publish(*exchange("c-42", "t-7"))
    await stack.quiet()
    async with served(stack.app()) as url:
        tried, faults = await asyncio.to_thread(fuzz, await described(stack), url)
    assert tried > 10
    assert not faults, "\n\n".join(faults)


@pytest.mark.parametrize("name", [*HOSTILE_BODIES])
async def test_hostile_bodies_get_an_answer_in_json(stack: RunningStack, name: str) -> None:
    await stack.publish(*exchange("c-42", "t-7"))
    paths = (await described(stack))["paths"]
    posts = [path for path, methods in paths.items() if "post" in methods]
    assert set(INTAKE) <= set(posts)
    async with stack.client(raise_app_exceptions=False) as http:
        for number, path in enumerate(posts, [*HOSTILE_BODIES].index(name)):
            address = path
            for place, value in PLACES.items():
                address = address.replace(place, value)
            # Each route gets each other media type, with some of the bodies.
            for media_type in (*MEDIA_TYPES, OTHER_MEDIA_TYPES[number % len(OTHER_MEDIA_TYPES)]):
                headers = [(b"Content-Type", media_type.encode("latin-1"))]
                answer = await http.post(address, content=HOSTILE_BODIES[name], headers=headers)
                where = (path, media_type, answer.status_code, answer.text[:200])
                assert answer.status_code < 500, where
                if path in INTAKE and answer.status_code >= 400:
                    assert answer.headers["content-type"] == "application/json", where
                    assert isinstance(answer.json()["detail"], str), where


@pytest.mark.parametrize(
    "path",
    [
        "/conversations/acme/support/%00/turns/t-7/feedback",
        "/conversations/acme/support/%ff%fe/turns/t-7/feedback",
        "/conversations/acme/support/%ed%a0%80/turns/t-7/feedback",
        "/conversations/acme/sup%2Fport/c/turns/t-7/feedback",
        "/conversations/..%2F/support/c/turns/t-7/feedback",
        f"/conversations/acme/support/{'c' * 300}/turns/t-7/feedback",
        f"/conversations/acme/support/c/turns/{'%F0%9F%98%80' * 256}/feedback",
        "/ingest/acme/%00/events",
        "/ingest/%ff/support/events",
    ],
)
async def test_hostile_paths(stack: RunningStack, path: str) -> None:
    async with served(stack.app()) as url, httpx.AsyncClient(base_url=url, headers=AUTHORIZED) as http:
        for method in ("GET", "POST", "PUT", "DELETE"):
            answer = await http.request(method, path, json={"reaction": "ok"})
            assert answer.status_code in (200, 404, 405, 415, 422), (method, path, answer.status_code)


async def test_the_examples_work(stack: RunningStack) -> None:
    """Every example in the document is a valid request as printed."""
    description = await described(stack)
    ingest = description["paths"][INTAKE[1]]["post"]["requestBody"]["content"]["application/x-ndjson"]["example"]
    judge = description["paths"][INTAKE[0]]["post"]["requestBody"]["content"]["application/json"]["examples"]
    async with stack.client() as http:
        sent = await http.post(
            "/ingest/acme/support/events", content=ingest, headers={"Content-Type": "application/x-ndjson"}
        )
        assert (sent.json()["accepted"], sent.json()["refused"]) == (3, [])
        for example in judge.values():
            address = "/conversations/acme/support/c-42/turns/t-7/feedback"
            assert (await http.post(address, json=example["value"])).status_code == 202
