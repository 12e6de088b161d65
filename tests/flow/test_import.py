"""`agent-feedback import` next to running services: recounted from its file, twice."""

from __future__ import annotations

import csv
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.support.command import agent_feedback_beside, agent_feedback_here
from tests.support.running_stack import RunningStack, exchange

HEADER = ("id", "chat", "answer", "bot", "user", "rated_at", "stars", "why")
COLUMNS = ("id=id", "conversation=chat", "message=answer", "agent=bot", "person=user", "time=rated_at", "verdict=stars")
STARS = ("4..5=ok", "1..2=not_ok", "3=neutral", "n/a=skip")
VERDICT = {"1": "not_ok", "2": "not_ok", "3": "neutral", "4": "ok", "5": "ok"}


def command(broker: object, file: Path, *more: str, project: str = "support") -> tuple[str | Path, ...]:
    mapping = [part for one in (*COLUMNS, "text=why") for part in ("--column", one)]
    verdicts = [part for one in STARS for part in ("--verdict", one)]
    where = ("--tenant", "acme", "--project", project, "--broker", str(broker), "--json")
    return ("import", file, *where, *mapping, *verdicts, *more)


def written(file: Path, rows: list[list[str]]) -> Path:
    with file.open("w", newline="") as out:
        csv.writer(out).writerows([HEADER, *rows])
    return file


def rating(number: int, stars: str, **changed: str) -> list[str]:
    row = {
        "id": f"s{number}", "chat": f"i-{number % 7}", "answer": f"a-{number}", "bot": f"bot-{number % 3}",
        "user": f"user-{number % 11}", "stars": stars, "why": f"reason {number}",
        "rated_at": f"2025-0{1 + number % 9}-1{number % 10}T08:00:00+01:00",
    }  # fmt: skip
    return [(row | changed)[name] for name in HEADER]


async def stored(stack: RunningStack, project: str) -> list[tuple[Any, ...]]:
    """Return the stored feedback of the project: everything that a change would change."""
    rows = await stack.rows(
        f"select feedback_id, revision, slots::text from feedback.feedback where project = '{project}' order by 1"
    )
    return [tuple(row) for row in rows]


async def test_imported_rows_are_the_reports_figures_and_a_second_import_changes_nothing(
    stack: RunningStack, tmp_path: Path
) -> None:
    """The expected counts come from the file alone. The second file has the rows in another order and each twice."""
    rows = [rating(number, str(1 + number % 5)) for number in range(300)]
    wrong = [rating(300, "6"), rating(301, "5", user=""), rating(302, "n/a")]
    file = written(tmp_path / "ratings.csv", rows[:200] + wrong + rows[200:])
    dry = await agent_feedback_beside(*command(stack.broker.bootstrap, file, "--dry-run", project="imported"))
    assert await stored(stack, "imported") == []
    once = await agent_feedback_beside(*command(stack.broker.bootstrap, file, project="imported"))
    assert (dry.code, once.code) == (1, 1), "rows were rejected"
    for ended in (dry, once):
        assert ended.facts["rows"] == 303
        assert ended.facts["sent"] == Counter(VERDICT[row[6]] for row in rows)
        assert ended.facts["skipped"] == {"a verdict mapped to skip": 1}
        assert [one["line"] for one in ended.facts["rejected"]] == [202, 203]
    await stack.quiet()
    first = await stored(stack, "imported")
    assert len(first) == len(rows)

    async with stack.client() as http:
        window = {"start": "2025-01-01T00:00:00Z", "end": "2025-12-31T00:00:00Z", "limit": "100", "min_votes": "1"}
        agents = (await http.get("/conversations/acme/imported/feedback/agents", params=window)).json()["agents"]
        asked = {"conversation_id": "i-3", "limit": 100}
        found = (await http.post("/conversations/acme/imported/feedback/search", json=asked)).json()["items"]
    expected = Counter((row[3], VERDICT[row[6]]) for row in rows)
    assert {
        (one["agent_id"], verdict): one[verdict] for one in agents for verdict in ("ok", "not_ok", "neutral")
    } == expected
    assert sorted((one["user_id"], one["text"], one["ts"], one["reaction"]) for one in found) == sorted(
        (row[4], row[7], f"{row[5][:10]}T07:00:00.000000Z", VERDICT[row[6]]) for row in rows if row[1] == "i-3"
    )

    again = written(tmp_path / "again.csv", [*reversed(rows), *rows])
    assert (await agent_feedback_beside(*command(stack.broker.bootstrap, again, project="imported"))).code == 0
    await stack.quiet()
    assert await stored(stack, "imported") == first


async def test_an_imported_judgement_is_the_persons_own_on_a_known_answer(stack: RunningStack, tmp_path: Path) -> None:
    """It is one record with a judgement over HTTP, of which the newer counts, and it is erased with the person."""
    await stack.publish(*exchange("known", "t1"))
    await stack.quiet()
    columns = ("--column", "turn=turn")
    file = tmp_path / "one.jsonl"
    row = {"id": "k1", "chat": "known", "turn": "t1", "answer": "t1-answer", "bot": "bot", "user": "ann", "stars": 1,
           "rated_at": "2026-01-01T11:00:00Z", "why": "Secret reason"}  # fmt: skip
    file.write_text(json.dumps(row) + "\n")
    assert (await agent_feedback_beside(*command(stack.broker.bootstrap, file, *columns))).facts["sent"] == {
        "not_ok": 1
    }
    await stack.quiet()
    judged = "/conversations/acme/support/known/turns/t1/feedback"
    async with stack.client("ann") as http:
        assert (await http.get(judged)).json()["reaction"] == "not_ok"
        assert (await http.post(judged, json={"reaction": "ok"})).status_code == 202
        await stack.quiet()
        assert (await http.get(judged)).json()["reaction"] == "ok"
    await agent_feedback_beside(*command(stack.broker.bootstrap, file, *columns))
    await stack.quiet()
    texts = "select count(*) from feedback.feedback where slots::text like '%Secret reason%'"
    async with stack.client("ann") as http:
        assert (await http.get(judged)).json()["reaction"] == "ok", "the import is older"
    async with stack.client() as http:
        assert (await http.delete("/tenants/acme/users/ann")).status_code == 202
    await stack.quiet()
    await agent_feedback_beside(*command(stack.broker.bootstrap, file, *columns))
    await stack.quiet()
    assert (await stack.rows(texts))[0][0] == 0, "an import does not restore what was erased"


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (("--column", "text=reason"), "has no column reason; its columns are id, chat"),
        (("--column", "colour=red"), "--column has no fact colour"),
        (("--verdict", "5=great"), "a verdict is ok, not_ok, neutral, skip"),
        (("--verdict", "5"), "write NAME=VALUE"),
        (("--format", "excel"), "There is no format excel"),
    ],
)
def test_wrong_options_are_refused_in_one_sentence(tmp_path: Path, changed: tuple[str, ...], said: str) -> None:
    ended = agent_feedback_here(*command("127.0.0.1:1", written(tmp_path / "r.csv", []), *changed))
    assert ended.code == 2
    assert said in ended.err
