"""Ids in paths over a real socket: a request reaches exactly the object that it names, with any characters in the
id."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from contracts.ids import feedback_id
from servicekit.web.server import HttpServer
from tests.support.running_stack import RunningStack, exchange

PIECES = st.sampled_from(
    ["a", "b", "/turns/", "/", "%2F", "%252F", "%", "..", ".", ";", ";x=1", " ", "?", "#", "+", "\\", "é", "日本", "👍"]
)
IDS = st.lists(PIECES, min_size=1, max_size=5).map("".join).filter(lambda text: text.strip() == text)


async def ask(port: int, method: str, path: str, token: str, body: bytes = b"") -> tuple[int, dict[str, str]]:
    """Return the response to a request whose path is sent unchanged; no client resolves its dots."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    head = [
        f"{method} {path} HTTP/1.1",
        "Host: x",
        f"Authorization: Bearer {token}",
        "Content-Type: application/json",
        f"Content-Length: {len(body)}",
        "Connection: close",
    ]
    writer.write("\r\n".join(head).encode("ascii") + b"\r\n\r\n" + body)
    answer = await reader.read()
    writer.close()
    lines, _, content = answer.partition(b"\r\n\r\n")
    return int(lines.split()[1]), json.loads(content)


def path_of(conversation: str, turn: str) -> str:
    return f"/conversations/acme/support/{quote(conversation, safe='')}/turns/{quote(turn, safe='')}/feedback"


@pytest.fixture(scope="module")
async def port(stack: RunningStack) -> AsyncIterator[int]:
    server = HttpServer("127.0.0.1", 0)
    await server.start(stack.app())
    yield server.port
    await server.stop()


async def test_a_judgement_lands_on_the_turn_it_names(stack: RunningStack, port: int) -> None:
    """Turn `x/turns/y` of conversation `sc` differs from turn `y` of conversation `sc/turns/x`."""
    await stack.publish(
        *exchange("sc", "x/turns/y", agent="left"),
        *exchange("sc/turns/x", "y", agent="right"),
    )
    body = b'{"reaction": "not_ok"}'
    assert (await ask(port, "POST", path_of("sc/turns/x", "y"), "ann", body))[0] == 202
    await stack.quiet()
    assert (await ask(port, "GET", path_of("sc/turns/x", "y"), "ann"))[1]["reaction"] == "not_ok"
    assert (await ask(port, "GET", path_of("sc", "x/turns/y"), "ann"))[1]["reaction"] is None
    assert (await ask(port, "GET", "/conversations/acme/support/sc/turns/x/turns/y/feedback", "ann"))[0] == 404


async def test_every_id_reaches_its_own_turn(stack: RunningStack, port: int) -> None:
    pairs: set[tuple[str, str]] = set()

    @settings(max_examples=60, deadline=None, database=None, derandomize=True, suppress_health_check=list(HealthCheck))
    @given(IDS, IDS)
    @example("..", ".")
    @example("sc", "x/turns/y")
    @example("sc/turns/x", "y")
    @example("a%2Fturns%2Fb", "c")
    def collect(conversation: str, turn: str) -> None:
        pairs.add((conversation, turn))

    collect()
    ordered = sorted(pairs)
    await stack.publish(*(event for pair in ordered for event in exchange(*pair, project="ids")))
    for number, (conversation, turn) in enumerate(ordered):
        person = f"person-{number}"
        path = path_of(conversation, turn).replace("/support/", "/ids/")
        status, answer = await ask(
            port, "POST", path, "all", json.dumps({"reaction": "ok", "user_id": person}).encode()
        )
        expected = feedback_id("acme", "ids", conversation, source="api", user_id=person, agent_id="", source_id=turn)
        assert (status, answer.get("feedback_id")) == (202, str(expected)), (conversation, turn, answer)
