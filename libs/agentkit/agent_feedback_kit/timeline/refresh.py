"""Merge feedback into an agent's timeline when a conversation is loaded. No I/O.

The result depends on the model's prompt cache. With a cold cache, new or changed feedback is appended to its turn as
the last block and announced as incorporated, and the watermark advances. With a hot cache, the timeline is left
unchanged, and the feedback is announced on every load until it can be incorporated.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from agent_feedback_kit.answers import LatestItemJson
from agent_feedback_kit.timeline.model import (
    FEEDBACK_BLOCK,
    Block,
    Cache,
    FeedbackMeta,
    Refreshed,
    Timeline,
    Turn,
    path_of,
)

INCORPORATED: Final = "(incorporated into turn timeline)"
_SHOWN_CHARACTERS: Final = 500


def refresh(
    timeline: Timeline, cache: Cache, latest: Iterable[LatestItemJson], watermark: str | None = None
) -> Refreshed:
    """Merge feedback into a timeline, and return it together with an announcement of the new feedback.

    The timeline is left unchanged while a turn is in progress. Feedback on turns that are not in the timeline is
    skipped. The watermark then does not advance, so that the service returns the skipped feedback again.

    Args:
        timeline: The timeline.
        cache: The state of the model's prompt cache.
        latest: The items of the service's response, one per turn.
        watermark: The watermark of the response. With it, `latest` need only contain the changes since the timeline's
            own watermark. Without it, `latest` may contain all feedback.
    """
    if timeline.mid_turn:
        return Refreshed(timeline, None)
    items = list(latest)
    turns_by_id = {turn.turn_id: turn for turn in timeline.turns}
    fresh = [item for item in items if item["turn_id"] in turns_by_id and _is_new(item, turns_by_id[item["turn_id"]])]
    if cache == "hot":
        return Refreshed(timeline, announcement(fresh))
    by_turn: dict[str, list[LatestItemJson]] = {}
    for item in fresh:
        by_turn.setdefault(item["turn_id"], []).append(item)
    turns = tuple(
        _with_feedback(turn, by_turn[turn.turn_id]) if turn.turn_id in by_turn else turn for turn in timeline.turns
    )
    newest = max((item["recorded_at"] for item in fresh), default=None)
    known_ts = max((ts for ts in (timeline.last_known_feedback_ts, newest) if ts is not None), default=None)
    complete = all(item["turn_id"] in turns_by_id for item in items)
    mark = watermark if watermark and complete else timeline.watermark
    done = replace(timeline, turns=turns, last_known_feedback_ts=known_ts, watermark=mark)
    return Refreshed(done, announcement(fresh, INCORPORATED))


def announcement(items: Sequence[LatestItemJson], note: str = "") -> str | None:
    """Return a text that tells an agent about feedback, or None if there is no feedback.

    The text of each person is put on one line and truncated to 500 characters. `note` is appended as the last line.
    """
    if not items:
        return None
    people_only = all(item["origin"] == "user" for item in items)
    header = "[NEW USER FEEDBACKS]" if people_only else "[NEW FEEDBACKS]"
    return "\n".join([header, *map(_line, items), *([f"  {note}"] if note else [])])


def block_of(item: LatestItemJson) -> Block:
    """Return the timeline block for a feedback record. A retracted reaction is displayed as `null`."""
    header = "[USER FEEDBACK]" if item["origin"] == "user" else "[FEEDBACK]"
    lines = [header, f"[ts: {item['ts']}]", f"reaction: {item['reaction'] or 'null'}", item["text"] or ""]
    meta = FeedbackMeta(
        feedback_id=item["feedback_id"],
        user_id=item["user_id"],
        origin=item["origin"],
        reaction=item["reaction"],
        confidence=item["confidence"],
        from_turn_id=item["turn_id"],
        recorded_at=item["recorded_at"],
    )
    return Block(FEEDBACK_BLOCK, path_of(item), "\n".join(lines).rstrip(), item["ts"], meta=meta)


def _is_new(item: LatestItemJson, turn: Turn) -> bool:
    """Return True if the turn has no block for this version of the feedback or a later one."""
    path = path_of(item)
    shown = [block.meta.recorded_at for block in turn.blocks if block.path == path and block.meta]
    return all(item["recorded_at"] > recorded_at for recorded_at in shown)


def _with_feedback(turn: Turn, items: Sequence[LatestItemJson]) -> Turn:
    """Return the turn with a block appended for each item, in place of the feedback's former block.

    A person has only one reaction on a turn, so earlier blocks of the same person are hidden.
    """
    blocks = turn.blocks
    for item in items:
        path = path_of(item)
        blocks = (*(_hidden(block, item) for block in blocks if block.path != path), block_of(item))
    return replace(turn, blocks=blocks)


def _hidden(block: Block, newer: LatestItemJson) -> Block:
    meta = block.meta
    if meta is None or not meta.user_id or not meta.origin == newer["origin"] == "user":
        return block
    return replace(block, hidden=True) if meta.user_id == newer["user_id"] else block


def _line(item: LatestItemJson) -> str:
    text = " ".join((item["text"] or "").split())
    if len(text) > _SHOWN_CHARACTERS:
        text = text[: _SHOWN_CHARACTERS - 1] + "…"
    return (
        f"  - turn {item['turn_id']} | turn_ts={item['turn_ts'] or ''} | feedback_ts={item['ts']} | "
        f"reaction={item['reaction'] or 'null'} | text={text}"
    )
