"""The reference consumer of `feedback.created` has exactly the feedback that the store has and the reports count."""

from __future__ import annotations

import asyncio
import json
import runpy
import signal
import sqlite3
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import asyncpg
import pytest
from aiokafka import ConsumerRecord

from contracts.topics import ERASURE_REQUESTED
from servicekit.log.records import Message
from tests.support.running_stack import RunningStack, exchange, message, reaction, reply
from tests.support.waits import PATIENCE_SECONDS

EXAMPLE = Path(__file__).parents[2] / "examples" / "rlhf_consumer.py"
EFFECTIVE = """
select tenant, project, conversation_id, turn_id, agent_id, user_id, user_type, origin, feedback_type, reaction, value,
       confidence, feedback_id::text as feedback_id
from reporting.effective
"""


async def started(stack: RunningStack, state: Path, *options: str) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        *(sys.executable, str(EXAMPLE), "--broker", stack.broker.bootstrap, "--state", str(state), *options),
        stdout=asyncio.subprocess.PIPE,
    )


async def caught_up(stack: RunningStack, state: Path, *options: str) -> list[dict[str, Any]]:
    """Return the consumer's counts after it has read the whole topic."""
    process = await started(stack, state, "--once", *options)
    async with asyncio.timeout(60):
        out, _ = await process.communicate()
    assert process.returncode == 0
    return [json.loads(line) for line in out.splitlines()]


async def reported(stack: RunningStack) -> list[dict[str, Any]]:
    connection = await asyncpg.connect(stack.database_url)
    try:
        return [dict(row) for row in await connection.fetch(EFFECTIVE)]
    finally:
        await connection.close()


def by_id(rows: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return the rows by feedback id, without fields that reports show in another form."""
    left_out = ("occurred_at", "thread_id", "question_message_id")
    return {row["feedback_id"]: {name: row[name] for name in row if name not in left_out} for row in rows}


@pytest.fixture
async def post(stack: RunningStack) -> AsyncIterator[Callable[[str, Any], Any]]:
    async with stack.client("ann") as http:

        async def post(conversation: str, body: Any) -> None:
            path = f"/conversations/acme/support/{conversation}/turns/{conversation}/feedback"
            assert (await http.post(path, json=body)).status_code == 202

        yield post


def asked(conversation: str) -> Sequence[Any]:
    """Return a question and its answer, on a turn with the conversation's id."""
    return exchange(conversation, conversation)


def thumb(conversation: str, emoji: str = "👍", **fields: Any) -> Any:
    return reaction(f"{conversation}-answer", conversation, emoji, **fields)


async def test_every_kind_of_feedback_names_question_and_thread(stack: RunningStack, tmp_path: Path, post: Any) -> None:
    critic = thumb("q-thread", "👎", user="critic", userType="agent")
    in_thread = [one | {"threadId": "th"} for one in asked("q-thread")]
    wrong = message(
        "q-thread-reply", "q-thread", content="That's wrong, it opens at ten.", occurredAt="2026-01-01T10:02:00Z"
    )
    replied = reply(wrong, "q-thread-answer", threadId="th")
    await stack.publish(*in_thread, critic, replied, *asked("q-channel"), thumb("q-channel"))
    await stack.quiet()
    copy = {name: in_thread[1][name] for name in ("messageId", "conversationId", "senderId", "senderType", "content")}
    carrying: dict[str, Any] = {"original": copy, "userType": "guest"}
    await stack.publish(thumb("q-thread", user="bob", **carrying))
    await post("q-thread", {"reaction": "not_ok"})
    await post("q-channel", {"reaction": "ok"})
    await stack.quiet()
    state = tmp_path / "rewards.sqlite"
    found = [*await caught_up(stack, state), *await caught_up(stack, state, "--replies")]
    about = {(row["conversation_id"], row["feedback_type"], row["user_type"]): row for row in found}
    kinds = {("reaction", "agent"), ("explicit", "human"), ("inferred", "human"), ("implicit", "human")}
    kinds.add(("reaction", "guest"))
    assert {kind[1:] for kind in about if kind[0] == "q-thread"} == kinds
    for (conversation, _, _), row in about.items():
        if conversation in ("q-thread", "q-channel"):
            place = (row["question_message_id"], row["thread_id"])
            assert place == (f"{conversation}-question", "th" if conversation == "q-thread" else None)
    implicit = about["q-thread", "implicit", "human"]
    assert (implicit["value"], implicit["reaction"], implicit["turn_id"]) == (0.4, None, "q-thread")


async def test_what_an_erased_person_said_is_gone(stack: RunningStack, tmp_path: Path) -> None:
    state = tmp_path / "rewards.sqlite"
    await stack.publish(*asked("r-erased"), thumb("r-erased", user="eve"))
    await stack.quiet()
    assert "eve" in {row["user_id"] for row in await caught_up(stack, state)}
    request: dict[str, Any] = {
        "eventId": "erase-eve",
        "occurredAt": "2026-01-02T00:00:00Z",
        "tenant": "acme",
        "userId": "eve",
    }
    request |= {"requestId": "r1", "version": 1}
    await stack.stack.log.send([Message(ERASURE_REQUESTED.name, "acme/eve", json.dumps(request).encode())])
    await stack.quiet()
    counted = await caught_up(stack, state)
    assert "eve" not in {row["user_id"] for row in counted}
    assert by_id(counted) == by_id(await reported(stack))
    kept = sqlite3.connect(state).execute("select event from feedback where event ->> 'userId' = 'eve'").fetchall()
    assert kept == []


async def test_a_killed_consumer_goes_on_where_it_was_and_redelivery_changes_nothing(
    stack: RunningStack, tmp_path: Path
) -> None:
    state = tmp_path / "rewards.sqlite"
    first = await started(stack, state)
    for number in range(40):
        await stack.publish(*asked(f"r-kill-{number}"), thumb(f"r-kill-{number}"))
        if number == 20:
            await _until(lambda: _taken(state) > 0)
            first.send_signal(signal.SIGKILL)
            await first.wait()
    await stack.quiet()
    counted = await caught_up(stack, state)
    assert by_id(counted) == by_id(await reported(stack))
    with sqlite3.connect(state) as database:
        database.execute("delete from last_read")
    assert await caught_up(stack, state) == counted


JUNK: dict[str, tuple[bytes | None, Sequence[tuple[str, bytes | None]]]] = {
    "a revision of thousands of digits": (None, [("revision", b"9" * 5_000)]),
    "a revision above 64 bits": (None, [("revision", b"9" * 30)]),
    "a header without a value": (None, [("revision", None)]),
    "an announced revision above 64 bits": (b'{"feedbackId": "a", "revision": 99999999999999999999}', ()),
    "an endless revision": (b'{"feedbackId": "a", "revision": 1e999}', ()),
    "an endless value": (b'{"feedbackId": "a", "revision": 1, "value": 1e999}', ()),
    "half a character": (b'{"feedbackId": "\\ud800", "revision": 1}', ()),
    "no JSON": (b'{"feedbackId": "a", "revision": 1, "value": NaN}', ()),
    "arrays in arrays": (b"[" * 100_000, ()),
}


@pytest.mark.parametrize("junk", JUNK.values(), ids=JUNK)
def test_junk_on_the_topic_does_not_end_the_consumer(
    junk: tuple[bytes | None, Sequence[tuple[str, bytes | None]]], tmp_path: Path
) -> None:
    value, headers = junk
    with closing(runpy.run_path(str(EXAMPLE))["Rewards"](str(tmp_path / "rewards.sqlite"))) as rewards:
        rewards.take([ConsumerRecord("feedback.created", 0, 7, 1, 1, b"key", value, None, 0, 0, tuple(headers))])
        assert rewards.last_read() == {0: (7, 1)}
        assert list(rewards.effective()) == []


def announced(number: int, kind: str, second: int, **changed: Any) -> ConsumerRecord:
    """Return an announcement of bob's feedback on a turn of its own."""
    event = {
        "feedbackId": f"f{number:03}-{kind}", "revision": 1, "tenant": "acme", "project": "support",
        "conversationId": f"c{number % 7}", "turnId": f"t{number}", "userId": "bob", "agentId": "bot", "origin": "user",
        "feedbackType": kind, "source": "chat", "userType": "human", "confidence": 1.0, "value": 0.5,
        "reaction": None if kind == "implicit" else "ok",
        "occurredAt": f"2026-01-01T10:{second // 60:02}:{second % 60:02}.000000Z", **changed,
    }  # fmt: skip
    value = json.dumps(event).encode()
    return ConsumerRecord("feedback.created", 0, number, 1, 1, b"key", value, None, 0, len(value), ())


def test_sixty_replies_and_emoji_of_a_person_in_a_minute_count(tmp_path: Path) -> None:
    """Not judgements, not other people's or another minute's, and none that was taken back."""
    spam = [announced(n, "implicit" if n % 2 else "reaction", n // 2) for n in range(100)]
    others = [
        announced(200, "reaction", 59, userId="ann"), announced(201, "explicit", 59),
        announced(202, "reaction", 60), announced(203, "inferred", 59, origin="machine"),
    ]  # fmt: skip
    gone = [announced(n, "reaction", 0, value=None, reaction=None) for n in range(300, 400)]
    with closing(runpy.run_path(str(EXAMPLE))["Rewards"](str(tmp_path / "rewards.sqlite"))) as rewards:
        rewards.take([*gone, *reversed(spam), *others])
        shown = {row["feedback_id"] for row in (*rewards.effective(), *rewards.replies())}
    first = {f"f{n:03}-{'implicit' if n % 2 else 'reaction'}" for n in range(60)}
    assert shown == first | {"f200-reaction", "f201-explicit", "f202-reaction", "f203-inferred"}


def _taken(state: Path) -> int:
    try:
        with sqlite3.connect(state) as database:
            return int(database.execute("select count(*) from feedback").fetchone()[0])
    except sqlite3.OperationalError:
        return 0


async def _until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not holds():
            await asyncio.sleep(0.05)
