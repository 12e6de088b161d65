"""Source files that a reader has to know, because a function in them is called.

They are those of a reaction from its topic to its row in reporting, of the feedback list, and of `up --sample`.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from chat_bridge.handlers import ChatHandler
from standalone.cli.up import up
from standalone.one_process import replay
from tests.support.databases import server_folder
from tests.support.running_stack import exchange, running_stack

ROOT = Path(__file__).parents[2]
CONSUMER = "LogicSubscriber._run_consume_loop"
"""Name of the tasks that read the log, handle its records and commit them."""
MOST = {
    "libs/servicekit": 12,
    "libs/redaction": 2,
    "services/chat_bridge": 3,
    "services/feedback": 5,
    "services/reporting": 3,
}
"""Greatest number of files that a reaction enters, by package. May only fall."""
IS_VISIT: ContextVar[bool] = ContextVar("is_visit", default=False)
"""True in the test's request and the tasks that it starts, but not in the periodic work beside it."""
MOST_OF_LIST = 15
"""Greatest number of reporting's files that the page with the feedback list enters. May only fall."""
MOST_OF_UP = 14
"""Greatest number of standalone's files that `up --sample` enters. May only fall."""
MOST_FRAMES = 6
"""Greatest number of calls of ours between FastStream and the bridge's handler. May only fall."""


@contextmanager
def entered_files(counts: Callable[[], bool]) -> Iterator[set[str]]:
    """Collect the Python files of libs and services in which a function is called, while `counts` is true."""
    files: set[str] = set()
    folders = (f"{ROOT}/libs/", f"{ROOT}/services/")

    def enter(frame: FrameType, event: str, _: object) -> None:
        name = frame.f_code.co_filename
        if event == "call" and name.startswith(folders) and name.endswith(".py") and counts():
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


def _noting_frames(frames: list[str]) -> Any:
    """Return `ChatHandler.handle` with the names of our functions that lead to it, of its last call, in `frames`."""
    handle = ChatHandler.handle

    async def noting(self: ChatHandler, batch: Any) -> Any:
        frame, names = sys._getframe().f_back, []
        while frame is not None:
            if frame.f_code.co_filename.startswith(f"{ROOT}/libs/"):
                names.append(frame.f_code.co_qualname)
            frame = frame.f_back
        frames[:] = reversed(names)
        return await handle(self, batch)

    return noting


async def test_a_reaction_and_the_feedback_list_enter_few_files(
    postgres_url: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
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
    monkeypatch.setattr(ChatHandler, "handle", _noting_frames(frames := list[str]()))
    async with running_stack(postgres_url) as stack:
        await stack.publish(*messages)
        await stack.quiet()
        with entered_files(_is_in_consumer) as files:
            await stack.publish(reaction)
            await stack.quiet()
        assert [row["value"] for row in await stack.rows("select value from reporting.feedbacks")] == [-0.6]
        async with stack.client() as http:
            url = "/dashboard/feedback?at=acme/support&period=all"
            await http.get(url)  # what is imported, compiled or cached once
            IS_VISIT.set(True)
            with entered_files(IS_VISIT.get) as of_list:
                assert "👎" in (await http.get(url)).text
    counts = {package: sorted(file for file in files if file.startswith(f"{package}/")) for package in MOST}
    with capsys.disabled():
        for package, names in counts.items():
            print(f"\n{package} {len(names)}: {' '.join(name.removeprefix(f'{package}/') for name in names)}", end="")
        names = sorted(file for file in of_list if file.startswith("services/reporting/"))
        print(f"\nlist {len(names)}: {' '.join(name.removeprefix('services/reporting/') for name in names)}")
        print(f"\nframes {len(frames)}: {' '.join(frames)}")
    assert 0 < len(frames) <= MOST_FRAMES
    assert 0 < len(names) <= MOST_OF_LIST
    assert {package for package, names in counts.items() if len(names) > MOST[package]} == set()
    assert all(counts.values())


def test_up_with_the_sample_enters_few_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("servicekit.logging.configure_logging", lambda *_, **__: None)
    lines = replay._SAMPLE.read_text("utf-8").splitlines(keepends=True)[:20]
    monkeypatch.setattr(replay, "_SAMPLE", short := tmp_path / "sample.jsonl")
    short.write_text("".join(lines), "utf-8")
    with server_folder() as folder, entered_files(lambda: True) as files:
        up(sample=True, exit=True, as_json=True, state=Path(folder) / "state")
    assert json.loads(capsys.readouterr().out)["replayed"]["events"] == len(lines)
    names = sorted(file.removeprefix("services/standalone/") for file in files if "services/standalone/" in file)
    with capsys.disabled():
        print(f"\nup --sample {len(names)}: {' '.join(names)}")
    assert 0 < len(names) <= MOST_OF_UP
