"""Messages to the user while services start."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import cast

import pytest

from servicekit.errors import Unavailable
from standalone import waiting
from standalone.one_process import startup
from standalone.one_process.stack import Stack
from standalone.one_process.startup import each_once, start_stack


class SlowStack:
    """Stack that is ready after some questions, and stops if the start is given up."""

    def __init__(self, questions: int) -> None:
        self._questions = questions
        self.stopped = False

    async def start(self) -> None:
        """Start nothing."""

    async def stop(self) -> None:
        self.stopped = True

    async def not_ready(self) -> str | None:
        self._questions -= 1
        return "the log is empty" if self._questions >= 0 else None


@pytest.mark.parametrize(("silent", "told"), [(-1.0, ["Waiting: the log is empty ..."]), (math.inf, [])])
async def test_the_user_is_told_once_after_a_silent_time(
    silent: float, told: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(startup, "SILENT_SECONDS", silent)
    said: list[str] = []
    stack = SlowStack(3)
    assert await start_stack(lambda: cast(Stack, stack), said.append) is stack  # type: ignore[comparison-overlap]  # a stub
    assert (said, stack.stopped) == (told, False)


async def test_a_stack_that_fails_to_start_is_stopped() -> None:
    class Failing(SlowStack):
        async def not_ready(self) -> str | None:
            raise ValueError("no settings")

    stack = Failing(1)
    with pytest.raises(ValueError, match="no settings"):
        await start_stack(lambda: cast(Stack, stack), print)
    assert stack.stopped


async def test_during_an_outage_another_stack_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    class Refused(SlowStack):
        async def start(self) -> None:
            raise Unavailable("the log", "it is down")

    monkeypatch.setattr(waiting, "asyncio", SimpleNamespace(sleep=sleep))
    first, second = Refused(0), SlowStack(0)
    stacks, said = iter([first, second]), list[str]()
    made = await start_stack(lambda: cast(Stack, next(stacks)), said.append)
    assert made is second  # type: ignore[comparison-overlap]  # a stub
    assert (first.stopped, second.stopped, pauses) == (True, False, [1])
    assert len(said) == 1 and said[0].startswith("Waiting: ")


def test_a_repeated_line_is_printed_once() -> None:
    said: list[str] = []
    say = each_once(said.append)
    for line in ("a", "b", "a"):
        say(line)
    assert said == ["a", "b"]
