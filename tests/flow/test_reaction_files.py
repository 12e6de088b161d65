"""Number of source files that a reaction enters, from its topic to its row in reporting: a reader has to know them."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import pytest

from tests.support.running_stack import exchange, running_stack

ROOT = Path(__file__).parents[2]
FOLDERS = (f"{ROOT}/libs/", f"{ROOT}/services/")
CONSUMER = "LogicSubscriber._run_consume_loop"
"""Name of the tasks that read the log, handle its records and commit them."""
MOST = {
    "libs/servicekit": 12,
    "libs/redaction": 2,
    "services/chat_bridge": 3,
    "services/feedback": 5,
    "services/reporting": 3,
}
"""Greatest number of files by package. May only fall."""


@contextmanager
def entered_files() -> Iterator[set[str]]:
    """Collect the files of libs and services in which the consumers' tasks call a function."""
    files: set[str] = set()

    def enter(frame: FrameType, event: str, _: object) -> None:
        name = frame.f_code.co_filename
        if event == "call" and name.startswith(FOLDERS) and name.endswith(".py") and _is_in_consumer():
            files.add(Path(name).relative_to(ROOT).as_posix())

    sys.setprofile(enter)
    try:
        yield files
    finally:
        sys.setprofile(None)


def _is_in_consumer() -> bool:
    try:
        task = asyncio.current_task()
    except RuntimeError:
        return False
    return task is not None and getattr(task.get_coro(), "__qualname__", "") == CONSUMER


async def test_a_reaction_enters_few_files(postgres_url: str, capsys: pytest.CaptureFixture[str]) -> None:
    messages = exchange("c1", "t1")
    reaction = {
        "topic": "chat.message.reaction.ingested",
        "eventId": "r1",
        "occurredAt": "2026-01-01T10:02:00Z",
        "tenant": "acme",
        "project": "support",
        "messageId": messages[-1]["messageId"],
        "conversationId": "c1",
        "userId": "ann",
        "emoji": "👎",
    }
    async with running_stack(postgres_url) as stack:
        await stack.publish(*messages)
        await stack.quiet()
        with entered_files() as files:
            await stack.publish(reaction)
            await stack.quiet()
        assert [row["value"] for row in await stack.rows("select value from reporting.feedbacks")] == [-0.6]
    counts = {package: sorted(file for file in files if file.startswith(f"{package}/")) for package in MOST}
    with capsys.disabled():
        for package, names in counts.items():
            print(f"\n{package} {len(names)}: {' '.join(name.removeprefix(f'{package}/') for name in names)}", end="")
    assert {package for package, names in counts.items() if len(names) > MOST[package]} == set()
    assert all(counts.values())
