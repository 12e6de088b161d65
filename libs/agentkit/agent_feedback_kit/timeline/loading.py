"""Load feedback into an agent's timeline. If the service fails, the timeline is left unchanged."""

from __future__ import annotations

import logging

from agent_feedback_kit.answers import LatestItemJson
from agent_feedback_kit.client.asynchronous import AsyncClient
from agent_feedback_kit.deadlines import within
from agent_feedback_kit.timeline.model import Cache, Refreshed, Timeline
from agent_feedback_kit.timeline.refresh import refresh

log = logging.getLogger("agent_feedback_kit.timeline")
SECONDS = 0.5
"""Default deadline for loading feedback, in seconds."""


async def refresh_on_load(
    client: AsyncClient, conversation_id: str, timeline: Timeline, cache: Cache, *, seconds: float = SECONDS
) -> Refreshed:
    """Fetch the feedback received since the last load and return the updated timeline.

    Never raises. If the service fails or takes longer than `seconds`, a WARNING is logged and the timeline is returned
    unchanged.
    """
    if timeline.mid_turn:
        return Refreshed(timeline, None)
    try:
        items, watermark = await within(seconds, _said(client, conversation_id, timeline.watermark))
        return refresh(timeline, cache, items, watermark)
    except Exception as error:
        log.warning("Feedback was not loaded into the timeline (%s).", type(error).__name__)
        return Refreshed(timeline, None)


async def _said(
    client: AsyncClient, conversation_id: str, watermark: str | None
) -> tuple[list[LatestItemJson], str | None]:
    """Fetch all pages and return their items, and the watermark of the last page."""
    items: list[LatestItemJson] = []
    cursor: str | None = None
    while True:
        page = await client.latest(conversation_id, watermark=watermark, cursor=cursor)
        items += page["items"]
        cursor = page.get("next_cursor")
        if cursor is None:
            return items, page.get("watermark")
