"""Repeated judgement of stored messages with the current detector, in a new epoch or as a dry run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final

from contracts.headers import Headers, derived_headers
from inference.differences import AnnouncedVerdict, Differences, Example
from inference.judging import JudgedMessage, Judging
from inference.rejudgements import BEGINNING, Rejudgement, Rejudgements, ToJudge
from inference.store import ConversationStore, IndexedMessage, MessageKey
from inference.window import message_ranges

BATCH: Final = 200
"""Number of messages that are judged, published and recorded together. An interruption repeats at most one batch."""


async def what_would_change(
    store: ConversationStore,
    rejudgements: Rejudgements,
    judging: Judging,
    since: int,
    progress: Callable[[int], None] = lambda _: None,
) -> Differences:
    """Judge the stored messages in a dry run and compare the results with the stored verdicts.

    Nothing is announced.

    Args:
        since: Earliest time of the messages, in microseconds since 1970.
        progress: Called with the number of messages in each batch.
    """
    differences, cursor = Differences(), BEGINNING
    while page := await rejudgements.page(since, cursor, BATCH):
        _count(differences, page, await _judged(store, judging, page))
        cursor = page[-1].cursor
        progress(len(page))
    return differences


async def rejudge(
    store: ConversationStore,
    rejudgements: Rejudgements,
    judging: Judging,
    run: Rejudgement,
    progress: Callable[[int], None] = lambda _: None,
) -> Differences:
    """Judge the remaining messages of `run`, and publish the announcements and retractions in its epoch.

    The progress is stored once the log has acknowledged a batch. Repeating a batch produces the same events.

    Args:
        progress: Called with the number of messages in each batch.

    Returns:
        The differences from the earlier verdicts, including those counted before an interruption.
    """
    differences, cursor = Differences(Counter(run.counts)), run.cursor
    while page := await rejudgements.page(run.since, cursor, BATCH):
        stored_at = {one.key: one.stored_at for one in page}

        def headers(message: IndexedMessage, stored_at: dict[MessageKey, int] = stored_at) -> Headers:
            # The time of the texts is the time when they were stored, so that a later erasure covers them.
            return derived_headers(log_time=stored_at[message.key])

        judged = await _judged(store, judging, page)
        await judging.publish(judged, headers=headers)
        _count(differences, page, judged)
        cursor = page[-1].cursor
        await rejudgements.note(run.epoch, cursor, differences.counts)
        progress(len(page))
    await rejudgements.finish(run.epoch)
    return differences


async def _judged(store: ConversationStore, judging: Judging, page: Sequence[ToJudge]) -> list[JudgedMessage]:
    keys = {one.key for one in page}
    return await judging.judge(message_ranges(await store.around(keys, 0), keys, after=0))


def _count(differences: Differences, page: Sequence[ToJudge], judged: Sequence[JudgedMessage]) -> None:
    before = {one.key: one.before for one in page}
    for one in judged:
        key = one.placed.indexed.key
        text = one.placed.indexed.message.text
        differences.add(Example(key, before[key], AnnouncedVerdict.of(one.verdict), text))
