"""Effects of a refresh on a timeline, by example."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import agent_feedback_kit as kit
from agent_feedback_kit.answers import LatestItemJson
from agent_feedback_kit.timeline.loading import refresh_on_load
from agent_feedback_kit.timeline.model import FEEDBACK_BLOCK, Block, Timeline, Turn, path_of
from agent_feedback_kit.timeline.reading import item_of_artifact, read_reaction
from agent_feedback_kit.timeline.refresh import refresh
from tests.support.served import a_page, answering, hanging_up, nonsense, nowhere, silent, trickling

ANSWER = Block("assistant", "ar:t1.assistant", "At nine.")


START = Timeline((Turn("t1", (ANSWER,)), Turn("t2")))


def item(turn: str = "t1", **more: Any) -> LatestItemJson:
    said: LatestItemJson = {
        "turn_id": turn,
        "turn_ts": "2026-01-01T10:00:00.000000Z",
        "feedback_id": f"f-{turn}",
        "user_id": "ann",
        "ts": "2026-01-01T10:05:00.000000Z",
        "recorded_at": "2026-01-01T10:05:01.000000Z",
        "reaction": "not_ok",
        "text": "Out of\n date.",
        "confidence": 1.0,
        "origin": "user",
        "rn": "ef:acme:support:ann:c:t1:artifact:f",
    }
    said.update(more)  # type: ignore[typeddict-item]
    return said


LINE = (
    "  - turn t1 | turn_ts=2026-01-01T10:00:00.000000Z | feedback_ts=2026-01-01T10:05:00.000000Z | reaction=not_ok"
    " | text=Out of date."
)


def test_cold_works_it_in_as_the_last_block_and_says_so() -> None:
    done = refresh(START, "cold", [item()])
    assert done.announcement == f"[NEW USER FEEDBACKS]\n{LINE}\n  (incorporated into turn timeline)"
    first, second = done.timeline.turns
    assert first.blocks[0] == ANSWER
    block = first.blocks[-1]
    assert (block.type, block.path, block.hidden) == ("turn.feedback", "ar:t1.feedback.f-t1", False)
    assert block.text == "[USER FEEDBACK]\n[ts: 2026-01-01T10:05:00.000000Z]\nreaction: not_ok\nOut of\n date."
    assert block.meta is not None
    assert (block.meta.origin, block.meta.reaction, block.meta.from_turn_id) == ("user", "not_ok", "t1")
    assert second.blocks == ()
    assert done.timeline.last_known_feedback_ts == "2026-01-01T10:05:01.000000Z"
    assert refresh(done.timeline, "cold", [item()]).announcement is None
    assert refresh(done.timeline, "cold", [item()]).timeline == done.timeline


def test_hot_announces_and_changes_nothing() -> None:
    for _ in range(2):
        done = refresh(START, "hot", [item()], "w")
        assert done.announcement == f"[NEW USER FEEDBACKS]\n{LINE}"
        assert done.timeline is START


def test_nothing_is_refreshed_within_a_turn() -> None:
    busy = Timeline(START.turns, mid_turn=True)
    assert refresh(busy, "cold", [item()]).timeline is busy
    assert refresh(busy, "cold", [item()]).announcement is None


def test_a_machine_among_people_has_the_other_header() -> None:
    done = refresh(START, "hot", [item(), item("t2", origin="machine", user_id="bot", text=None)])
    assert (done.announcement or "").startswith("[NEW FEEDBACKS]\n")
    cold = refresh(START, "cold", [item(origin="machine", text=None)])
    assert cold.timeline.turns[0].blocks[-1].text.startswith("[FEEDBACK]\n")


def test_a_block_that_has_lost_its_metadata_is_replaced() -> None:
    bare = Block("turn.feedback", "ar:t1.feedback.f-t1", "[USER FEEDBACK]")
    done = refresh(Timeline((Turn("t1", (bare, ANSWER)),)), "cold", [item()])
    assert done.announcement is not None
    assert done.timeline.turns == refresh(START, "cold", [item()]).timeline.turns[:1]


def test_of_a_persons_two_feedbacks_on_a_turn_the_earlier_is_hidden() -> None:
    once = refresh(START, "cold", [item()]).timeline
    other = item(feedback_id="emoji", reaction="ok", recorded_at="2026-01-01T12:00:00.000000Z")
    blocks = refresh(once, "cold", [other]).timeline.turns[0].blocks
    assert [(block.path, block.hidden) for block in blocks[1:]] == [
        ("ar:t1.feedback.f-t1", True),
        ("ar:t1.feedback.emoji", False),
    ]
    somebody_else = refresh(once, "cold", [item(feedback_id="b", user_id="ben")]).timeline.turns[0].blocks
    assert [block.hidden for block in somebody_else] == [False, False, False]


def test_feedback_without_a_person_hides_nothing() -> None:
    once = refresh(START, "cold", [item(user_id=None)]).timeline
    blocks = refresh(once, "cold", [item(feedback_id="b", user_id=None)]).timeline.turns[0].blocks
    assert [block.hidden for block in blocks] == [False, False, False]


def test_feedback_on_a_turn_that_is_not_there_waits_for_the_turn() -> None:
    gone = item("gone", recorded_at="2026-01-01T11:00:00.000000Z")
    done = refresh(Timeline(START.turns, watermark="w1"), "cold", [item(), gone], "w2")
    assert "turn gone" not in (done.announcement or "") and "turn t1" in (done.announcement or "")
    assert (done.timeline.watermark, done.timeline.last_known_feedback_ts) == ("w1", "2026-01-01T10:05:01.000000Z")
    assert refresh(done.timeline, "hot", [item(), gone], "w2").announcement is None
    back = Timeline((*done.timeline.turns, Turn("gone")), done.timeline.last_known_feedback_ts, "w1")
    again = refresh(back, "cold", [item(), gone], "w2")
    assert "turn gone" in (again.announcement or "") and "turn t1" not in (again.announcement or "")
    assert again.timeline.watermark == "w2"


@pytest.mark.parametrize(("length", "shown"), [(500, "w" * 500), (501, "w" * 499 + "…")])
def test_an_announcement_has_500_characters_of_each_text(length: int, shown: str) -> None:
    done = refresh(START, "hot", [item(text="w" * length, turn_ts=None)])
    assert (done.announcement or "").endswith(
        f"| turn_ts= | feedback_ts={item()['ts']} | reaction=not_ok | text={shown}"
    )


REACTION = {"turn_id": "t1", "text": "d'accord", "confidence": 0.9, "ts": "2026-01-01T10:05:00Z", "reaction": "ok",
            "origin": "machine"}  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(REACTION),
        str(REACTION),
        f"[turn.log.reaction]\n{REACTION}",
        f"[turn.log.reaction] ts=2026\n{json.dumps(REACTION, indent=2)}\n",
        json.dumps({"reaction": REACTION, "meta": {}}),
    ],
)
def test_every_form_of_a_reaction_is_read(text: str) -> None:
    assert read_reaction(text) == REACTION
    read = item_of_artifact(text, {"rn": "ef:acme:support:a:n:c:t1:artifact:the-id", "turn_id": "t1"})
    assert read is not None
    assert (read["feedback_id"], read["reaction"], read["origin"]) == ("the-id", "ok", "machine")
    assert "d'accord" in (refresh(START, "hot", [read]).announcement or "")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[turn_log]\n10:00 user asked\n10:01 agent answered",
        json.dumps({"turn_id": "t1", "user": "When?", "assistant": "At nine."}),
        json.dumps({"reaction": "great"}),
        json.dumps([REACTION]),
        "{" * 50_000,
        "{'a': __import__('os').getcwd()}",
        "{'reaction': 'ok'" + " " * 200_000 + "}",
        "\x00{\udcff",
    ],
)
def test_what_is_no_reaction_is_passed_over(text: str) -> None:
    assert read_reaction(text) is None
    assert item_of_artifact(text, {"rn": "x", "turn_id": "t1"}) is None


@pytest.mark.parametrize(
    "ts",
    [None, "", "zzz", {"a": 1}, b"2026", 7, "20990101", "2026-W53-1", "2026-01-01T10:05:00", "0001-01-01T00:00+23:00"],
)
def test_a_time_that_is_none_hides_no_later_feedback(ts: Any) -> None:
    assert item_of_artifact(str(REACTION | {"ts": ts}), {"rn": "a:id", "turn_id": "t1"}) is None


@pytest.mark.parametrize("ts", ["2026-01-01T10:05:00Z", "2026-01-01T23:05:00+13:00", "20260101T100500+0000"])
def test_times_of_artifacts_compare_as_texts(ts: str) -> None:
    read = item_of_artifact(str(REACTION | {"ts": ts}), {"rn": "a:id", "turn_id": "t1"})
    assert read is not None
    assert read["ts"] == read["recorded_at"] == "2026-01-01T10:05:00.000000Z"


@pytest.mark.parametrize("confidence", ["9" * 500, "NaN", "1e999", "-1", "1.01", '"much"', "null"])
def test_a_confidence_that_is_none_counts_as_sure(confidence: str) -> None:
    text = json.dumps(REACTION).replace("0.9", confidence)
    found = item_of_artifact(text, {"rn": "a:id", "turn_id": "t1"})
    assert found is not None and found["confidence"] == 1.0


@pytest.mark.parametrize(
    ("field", "given", "read"),
    [("confidence", 0, 0.0), ("confidence", 0.5, 0.5), ("confidence", 1, 1.0), ("text", "Hm.", "Hm."),
     ("text", 7, None), ("text", None, None), ("origin", "machine", "machine"), ("origin", "reviewer", "reviewer"),
     ("origin", "user", "user"), ("origin", "somebody", "user"), ("origin", None, "user"), ("reaction", None, None),
     ("reaction", "neutral", "neutral")],
)  # fmt: skip
def test_the_fields_of_an_artifact(field: str, given: Any, read: Any) -> None:
    found: Any = item_of_artifact(json.dumps(REACTION | {field: given}), {"rn": "a:id"})
    assert (found[field], type(found[field])) == (read, type(read))
    assert (found["user_id"], found["turn_ts"], found["rn"]) == ("", None, "a:id")


@pytest.mark.parametrize(
    ("own", "meta", "turn"),
    [
        ("t1", {"rn": "ef:f", "turn_id": "t2"}, "t1"),
        (None, {"rn": "ef:f", "turn_id": "t2"}, "t2"),
        (None, {"rn": "ef:f"}, None),
        (None, {"rn": "ef:f", "turn_id": 2}, None),
        (7, {"rn": "ef:f", "turn_id": "t2"}, None),
        ("t1", {"turn_id": "t2"}, None),
        ("t1", {"rn": 7, "turn_id": "t2"}, None),
    ],
)
def test_an_artifact_names_its_turn_itself_or_in_its_payload(own: Any, meta: dict[str, Any], turn: str | None) -> None:
    said = {"reaction": "ok", "ts": "2026-01-01T10:00:00Z"} | ({} if own is None else {"turn_id": own})
    found = item_of_artifact(json.dumps(said), meta)
    assert (found and found["turn_id"]) == turn
    assert found is None or found["feedback_id"] == "f"


@pytest.mark.parametrize("server", [silent, trickling, nonsense, a_page, hanging_up, None])
async def test_a_service_in_trouble_leaves_the_timeline_alone(server: Any, caplog: pytest.LogCaptureFixture) -> None:
    async def load(url: str) -> None:
        async with kit.AsyncClient(url, tenant="acme", project="support", token="secret") as client:
            done = await refresh_on_load(client, "c", START, "cold", seconds=0.2)
        assert done.timeline is START
        assert done.announcement is None
        assert [one.levelname for one in caplog.records if one.name.startswith("agent_feedback_kit")] == ["WARNING"]
        assert "secret" not in caplog.text

    if server is None:
        await load(nowhere())
    else:
        async with answering(server) as url:
            await load(url)


async def test_all_pages_are_worked_in_and_the_last_one_has_the_watermark() -> None:
    asked: list[Any] = []
    pages: list[dict[str, Any]] = [
        {"conversation_id": "c", "items": [item()], "next_cursor": "more", "watermark": "w1b"},
        {"conversation_id": "c", "items": [item("t2")], "next_cursor": None, "watermark": "w2"},
    ]

    def platform(request: httpx.Request) -> httpx.Response:
        asked.append(json.loads(request.content))
        return httpx.Response(200, json=pages[len(asked) - 1])

    before = Timeline(START.turns, watermark="w1")
    transport = httpx.MockTransport(platform)
    async with kit.AsyncClient("http://x", tenant="acme", project="support", transport=transport) as client:
        done = await refresh_on_load(client, "c", before, "cold", seconds=60.0)
        busy = Timeline(START.turns, mid_turn=True)
        assert (await refresh_on_load(client, "c", busy, "cold")).timeline is busy
    assert asked == [
        {"turn_ids": None, "watermark": "w1"},
        {"turn_ids": None, "watermark": "w1", "cursor": "more"},
    ], "nothing is asked within a turn"
    assert done == refresh(before, "cold", [item(), item("t2")], "w2")
    assert [len(turn.blocks) for turn in done.timeline.turns] == [2, 1]
    assert done.timeline.watermark == "w2"


# Any sequence of feedback, cache states and loads keeps the timeline's rules, written here as plain assertions.

TURNS = ("t1", "t2", "t3", "not in the timeline")


USERS = ("ann", "ben")


class Service:
    """Platform stand-in that returns the latest change of each turn for every change after the watermark.

    Changes become visible in another order than they are recorded, and the newest one of a response may be repeated.
    """

    def __init__(self) -> None:
        self.changes: list[LatestItemJson] = []

    def say(self, turn: str, user: str, reaction: Any, lag: int) -> None:
        recorded = max(0, len(self.changes) * 10 - lag)
        mine = [one for one in self.changes if (one["turn_id"], one["user_id"]) == (turn, user)]
        recorded = max([recorded, *(int(one["recorded_at"][5:]) + 1 for one in mine)])
        one: Any = {
            "turn_id": turn,
            "turn_ts": None,
            "feedback_id": f"{turn}/{user}",
            "user_id": user,
            "ts": f"said {len(self.changes)}",
            "recorded_at": f"2026-{recorded:08}",
            "reaction": reaction,
            "text": f"words {len(self.changes)}",
            "confidence": 1.0,
            "origin": "user",
            "rn": "",
        }
        self.changes.append(one)

    def latest(self, watermark: str | None, repeat: int) -> tuple[list[LatestItemJson], str]:
        seen = max(0, int(watermark or 0) - repeat)
        newest: dict[str, LatestItemJson] = {}
        for one in self.changes[seen:]:
            held = newest.get(one["turn_id"])
            if held is None or one["recorded_at"] >= held["recorded_at"]:
                newest[one["turn_id"]] = one
        return sorted(newest.values(), key=lambda one: one["recorded_at"]), str(len(self.changes))


SAYS = st.tuples(
    st.just("say"),
    st.sampled_from(TURNS),
    st.sampled_from(USERS),
    st.sampled_from(["ok", "not_ok", "neutral", None]),
    st.integers(0, 25),
)


LOADS = st.tuples(st.just("load"), st.sampled_from(["hot", "cold"]), st.integers(0, 1), st.booleans())


def _said(item: LatestItemJson) -> str:
    return f"| feedback_ts={item['ts']} | reaction={item['reaction'] or 'null'} | text={item['text']}"


def _shown(timeline: Timeline) -> dict[str, str]:
    """Return the recording time of every feedback block, by path."""
    blocks = [block for turn in timeline.turns for block in turn.blocks]
    return {block.path: block.meta.recorded_at for block in blocks if block.meta is not None}


@settings(max_examples=400, deadline=None)
@given(st.lists(st.one_of(SAYS, LOADS), max_size=40))
def test_the_rules_hold_over_any_history(history: list[Any]) -> None:
    answered = Block("assistant", "answer", "At nine.")
    service, timeline = Service(), Timeline(tuple(Turn(name, (answered,)) for name in TURNS[:3]))
    for step, *facts in history:
        if step == "say":
            service.say(*facts)
            continue
        cache, repeat, mid_turn = facts
        items, watermark = service.latest(timeline.watermark, repeat)
        before = Timeline(timeline.turns, timeline.last_known_feedback_ts, timeline.watermark, mid_turn)
        shown = _shown(before)
        done = refresh(before, cache, items, watermark)
        found = done.announcement or ""
        if mid_turn:  # only at a load, never within a turn
            assert done.timeline is before
            assert not found
            continue
        for item in items:
            known = shown.get(path_of(item))
            if item["turn_id"] in TURNS[:3]:
                # Announced until incorporated, then never again; an older repetition has no effect.
                assert (_said(item) in found) == (known is None or item["recorded_at"] > known)
        if cache == "hot":
            assert done.timeline is before
            assert "incorporated" not in found
            continue
        recorded = [item["recorded_at"] for item in items if item["turn_id"] in TURNS[:3]]
        assert (done.timeline.last_known_feedback_ts or "") == max([before.last_known_feedback_ts or "", *recorded])
        assert shown.keys() <= _shown(done.timeline).keys()
        assert int(done.timeline.watermark or 0) >= int(before.watermark or 0)
        for turn in done.timeline.turns:
            kinds = [block.type for block in turn.blocks]
            assert kinds == ["assistant"] + [FEEDBACK_BLOCK] * (len({block.path for block in turn.blocks}) - 1)
        after = _shown(done.timeline)
        for item in items:
            if item["turn_id"] in TURNS[:3]:
                assert after[path_of(item)] >= item["recorded_at"]  # nothing missed
        assert refresh(done.timeline, "cold", items, watermark).timeline.turns == done.timeline.turns
        timeline = done.timeline

    # Loads without new feedback leave the service's state: each turn's latest change.
    items, watermark = service.latest(timeline.watermark, 0)
    final = refresh(timeline, "cold", items, watermark).timeline
    everything, _ = service.latest(None, 0)
    for item in everything:
        if item["turn_id"] in TURNS[:3]:
            assert _shown(final)[path_of(item)] == item["recorded_at"]
            [turn] = [turn for turn in final.turns if turn.turn_id == item["turn_id"]]
            [block] = [block for block in turn.blocks if block.path == path_of(item)]
            assert block.text.endswith(f"reaction: {item['reaction'] or 'null'}\n{item['text']}")
            assert not block.hidden
