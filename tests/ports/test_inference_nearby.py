"""Vector search in the index of turns."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

import inference.service
import inference.turns.search_postgres
from detector.encoders.embedder import Vectors, WordLlamaEmbedder
from inference.turns.facts import Facts, Question, Reply
from inference.turns.rules import TurnKey
from inference.turns.search_postgres import LATEST, NEAREST
from inference.turns.store import PersonTurns, StrategyFilter
from inference.turns.store_postgres import PostgresTurnIndex
from inference.turns.vectors import TurnVectors
from servicekit.db.pools import open_pool

SCHEMA = Path(inference.service.__file__).parent / "sql" / "schema.sql"
WORDS = WordLlamaEmbedder()
ALL = PersonTurns("acme", "p", "ann", 0, 10_000)


class Renamed:
    """The same vectors under another name."""

    name = "another"
    dimension = 256

    def embed(self, texts: Sequence[str]) -> Vectors:
        return WORDS.embed(texts)


@pytest_asyncio.fixture
async def pool(postgres_url: str) -> AsyncIterator[Any]:
    opened = await open_pool(postgres_url, "inference", SCHEMA, size=2)
    await opened.execute("truncate messages, turns, verdicts, user_reactions")
    yield opened
    await opened.close()


@pytest_asyncio.fixture
async def turns(pool: Any) -> PostgresTurnIndex:
    return PostgresTurnIndex(pool, TurnVectors(WORDS))


def turn(
    name: str,
    at: int,
    question: str = "x",
    answer: str = "y",
    *,
    user: str = "ann",
    conversation: str = "c1",
    tenant: str = "acme",
    **fields: Any,
) -> Facts:
    key = TurnKey(tenant, "p", conversation, name)
    version = at.to_bytes(8)
    asked, replied = (
        Question(version, f"{name}-q", user, question),
        Reply(version, f"{name}-a", "bot", answer, **fields),
    )
    return Facts(key, at, asked, replied)


async def names(turns: PostgresTurnIndex, looked: PersonTurns, text: str) -> list[tuple[str, int]]:
    return sorted((one.key.turn_id, one.turns_back) for one in await turns.nearby(looked, text))


async def test_a_persons_turns_come_from_all_their_conversations_and_from_nowhere_else(
    turns: PostgresTurnIndex,
) -> None:
    await turns.take(
        [
            turn("t1", 10),
            turn("t2", 20, conversation="c2"),
            turn("t3", 20, conversation="c3"),
            turn("t4", 30, conversation="c2"),
            turn("later", 40),
            turn("older", 9),
            turn("other", 15, user="bob"),
            turn("elsewhere", 15, tenant="globex"),
            turn("other at once", 30, user="bob"),
            turn("elsewhere at once", 30, tenant="globex"),
            Facts(
                TurnKey("acme", "q", "c1", "of another project"),
                30,
                Question(b"1", "u", "ann", "z"),
                Reply(b"1", "a", "bot", "y"),
            ),
            Facts(TurnKey("acme", "p", "c1", "unanswered at once"), 30, Question(b"1", "u", "ann", "z")),
            Facts(TurnKey("acme", "p", "c1", "unanswered"), 25, Question(b"\x19", "u", "ann", "z")),
        ],
        [],
    )
    looked = PersonTurns("acme", "p", "ann", 10, 40)
    assert await names(turns, looked, "y") == [("t1", 4), ("t2", 2), ("t3", 2), ("t4", 1)]
    assert await names(turns, PersonTurns("acme", "p", "eve", 0, 100), "y") == []


async def test_the_nearest_answers_and_the_latest_are_picked(turns: PostgresTurnIndex) -> None:
    await turns.take([turn("museum", 1, answer="The museum opens at nine.")], [])
    await turns.take(
        [turn(f"t{n:03}", n, answer=f"Your train {n} leaves from platform two.") for n in range(2, 90)], []
    )
    found = await turns.nearby(ALL, "No, the museum opens at ten.")
    assert NEAREST <= len(found) <= NEAREST + LATEST
    nearest = max(found, key=lambda one: one.cosine)
    assert (nearest.key.turn_id, nearest.turns_back) == ("museum", 89)
    expected = WORDS.embed(["No, the museum opens at ten.", "The museum opens at nine."])
    assert nearest.cosine == pytest.approx(float(expected[0] @ expected[1]), abs=2e-3)
    assert {f"t{n:03}" for n in range(85, 90)} <= {one.key.turn_id for one in found}


async def test_of_a_name_that_many_share_the_latest_turns_are_looked_at(
    turns: PostgresTurnIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inference.turns.search_postgres, "SCANNED_TURNS_LIMIT", 2)
    await turns.take([turn(f"t{n}", n) for n in range(1, 5)], [])
    assert await names(turns, ALL, "y") == [("t3", 2), ("t4", 1)]


async def test_turns_without_a_vector_and_those_of_another_embedder_count_as_unlike(
    turns: PostgresTurnIndex, pool: Any
) -> None:
    facts = [turn("t1", 1, "When does it open?", "At nine.", strategy="s")]
    await turns.take(facts, [])
    others = PostgresTurnIndex(pool, TurnVectors(Renamed()))
    asked = StrategyFilter("acme", "p", text="When does it open?")
    assert [one.cosine for one in await others.nearby(ALL, "At nine.")] == [0.0]
    assert await others.search(asked, 5) == []
    await others.take(facts, [])
    assert [one.cosine for one in await others.nearby(ALL, "At nine.")] == [pytest.approx(1, abs=1e-3)]
    assert [one.cosine for one in await turns.nearby(ALL, "At nine.")] == [0.0]
    assert [one.key.turn_id for one in await others.search(asked, 5)] == ["t1"]
    await pool.execute("update turns set user_vector = null, user_embedder = null, assistant_vector = null")
    assert await others.search(asked, 5) == []
    assert [(one.key.turn_id, one.cosine) for one in await others.nearby(ALL, "At nine.")] == [("t1", 0.0)]


async def test_texts_that_say_nothing_are_like_nothing(turns: PostgresTurnIndex) -> None:
    await turns.take([turn("t1", 1, "", "🙂", strategy="s"), turn("t2", 2, "?", "At nine.", strategy="s")], [])
    assert [one.cosine for one in await turns.nearby(ALL, "At nine.")] == [pytest.approx(1, abs=1e-3), 0.0]
    assert {one.cosine for one in await turns.nearby(ALL, "🙂")} == {0.0}
    assert await turns.search(StrategyFilter("acme", "p", text="🙂"), 5) == []


async def test_strategies_are_found_by_questions_like_the_one_asked(turns: PostgresTurnIndex) -> None:
    await turns.take(
        [
            turn("same", 1, "When does the museum open?", strategy="a", quality_score=0.6),
            turn("reworded", 2, "What are the museum's opening hours?", strategy="b", quality_score=0.7),
            turn("unrelated", 3, "Translate this letter into French", strategy="c", quality_score=1.0),
            turn("tied", 4, "When does the museum open today?", strategy="d", quality_score=0.6),
            turn("plain", 5, "When does the museum open?"),
        ],
        [],
    )
    found = await turns.search(StrategyFilter("acme", "p", text="When does the museum open?"), 10)
    assert [one.key.turn_id for one in found] == ["reworded", "same", "tied"]
    assert [one.similarity for one in found][1] == pytest.approx(1, abs=1e-3)
    assert (await turns.search(StrategyFilter("acme", "p"), 10))[0].key.turn_id == "unrelated"
    assert (await turns.search(StrategyFilter("acme", "p"), 10))[0].similarity is None
    assert await turns.search(StrategyFilter("acme", "p", user_id="bob", text="When does the museum open?"), 10) == []


async def test_the_best_of_the_fifty_most_similar_questions_is_found(turns: PostgresTurnIndex) -> None:
    asked = "When does the museum open?"
    same = [turn(f"t{n:02}", n, asked, strategy="s", quality_score=0.1) for n in range(1, 50)]
    other = turn("other", 60, "When does the museum open today?", strategy="s", quality_score=0.9)
    await turns.take([*same, other], [])
    wanted = StrategyFilter("acme", "p", text=asked)
    assert [one.key.turn_id for one in await turns.search(wanted, 1)] == ["other"]
    await turns.take([turn("t50", 50, asked, strategy="s", quality_score=0.2)], [])
    assert [one.key.turn_id for one in await turns.search(wanted, 1)] == ["t50"]
    assert [one.key.turn_id for one in await turns.search(wanted, 51)][:2] == ["other", "t50"]


async def test_an_embedder_of_another_size_is_refused() -> None:
    class Wide(Renamed):
        dimension = 384

    with pytest.raises(ValueError, match="256"):
        TurnVectors(Wide())
