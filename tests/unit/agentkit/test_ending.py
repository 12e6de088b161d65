"""Questions, storage and output at `/end` and `/exit`."""

from __future__ import annotations

import asyncio
from typing import Any, Literal

import pytest

from agent_feedback_kit.answers import Label
from agent_feedback_kit.sessions.ending import FAREWELL, PROMPT, SAVE_PROMPT, Ended, end_session, label_of


class Scene:
    """A person with prepared answers, and a record of all steps in order."""

    def __init__(self, *answers: str | type[BaseException]) -> None:
        self._answers = list(answers)
        self.happened: list[Any] = []

    async def ask(self, question: str) -> str:
        self.happened.append(question)
        answer = self._answers.pop(0)
        if isinstance(answer, str):
            return answer
        raise answer

    async def record(self, label: str, source: str) -> None:
        self.happened.append((label, source))

    async def summarise(self) -> None:
        self.happened.append("summary")

    async def run(self, how: Literal["end", "exit"] = "end", **more: Any) -> Ended:
        return await end_session(
            how,
            **(
                {"ask": self.ask, "say": self.happened.append, "record": self.record, "summarise": self.summarise}
                | more
            ),
        )


def test_the_question_is_as_people_know_it() -> None:
    assert PROMPT == "Quick check — did today feel helpful? [y/n/s] (or Enter to skip without recording)"


@pytest.mark.parametrize(
    ("answer", "label"),
    [("y", "positive"), (" YES ", "positive"), ("n", "negative"), ("No", "negative"), ("s", "skip"), ("skip", "skip")],
)
async def test_an_answer_is_kept_then_summary_then_farewell(answer: str, label: Label) -> None:
    scene = Scene(answer)
    assert await scene.run() == Ended(label, saved=True)
    assert scene.happened == [PROMPT, (label, "cli_end"), "summary", FAREWELL]


@pytest.mark.parametrize("answer", ["", "   ", KeyboardInterrupt, EOFError])
async def test_enter_ctrl_c_and_end_of_input_record_nothing(answer: Any) -> None:
    scene = Scene(answer)
    assert await scene.run() == Ended(None, saved=True)
    assert scene.happened == [PROMPT, "summary", FAREWELL]


async def test_what_is_no_answer_is_asked_again_at_most_twice() -> None:
    scene = Scene("maybe", "y")
    assert (await scene.run()).label == "positive"
    scene = Scene("maybe", "perhaps", "who knows")
    assert await scene.run() == Ended(None, saved=True)
    assert scene.happened == [PROMPT] * 3 + ["summary", FAREWELL]
    assert label_of("maybe") is None


@pytest.mark.parametrize("save", ["", "y", "Yes"])
async def test_exit_asks_whether_to_save_first(save: str) -> None:
    scene = Scene(save, "n")
    assert await scene.run("exit") == Ended("negative", saved=True)
    assert scene.happened == [SAVE_PROMPT, PROMPT, ("negative", "cli_exit"), "summary", FAREWELL]


@pytest.mark.parametrize("save", ["n", " NO ", KeyboardInterrupt, EOFError])
async def test_not_saving_skips_rating_and_summary(save: Any) -> None:
    scene = Scene(save)
    assert await scene.run("exit") == Ended(None, saved=False)
    assert scene.happened == [SAVE_PROMPT, FAREWELL]


async def _fails(*_: Any) -> None:
    raise RuntimeError("ann said something")


async def _hangs(*_: Any) -> None:
    await asyncio.Event().wait()


@pytest.mark.parametrize(
    "hooks", [{"record": _fails}, {"summarise": _fails}, {"summarise": _hangs}, {"summarise": None}]
)
async def test_nothing_keeps_the_farewell_away(hooks: dict[str, Any], caplog: pytest.LogCaptureFixture) -> None:
    scene = Scene("y")
    assert (await scene.run(**hooks, summary_seconds=0.05)).label == "positive"
    assert scene.happened[-1] == FAREWELL
    assert "ann" not in caplog.text
    warnings = [
        one for one in caplog.records if one.levelname == "WARNING" and one.name.startswith("agent_feedback_kit")
    ]
    assert len(warnings) == (0 if hooks == {"summarise": None} else 1)
