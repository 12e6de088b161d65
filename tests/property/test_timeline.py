"""Any sequence of feedback, cache states and loads keeps the timeline's rules, written here as plain assertions."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from agent_feedback_kit.answers import LatestItemJson
from agent_feedback_kit.timeline.model import FEEDBACK_BLOCK, Block, Timeline, Turn, path_of
from agent_feedback_kit.timeline.refresh import refresh

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
