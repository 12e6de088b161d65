"""Repeated judgement of stored messages with the current detector, in a new epoch or as a dry run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final

from contracts.headers import Headers, derived_headers
from detector.model import NEIGHBOURHOOD, Verdict
from inference.differences import AnnouncedVerdict, Differences, Example
from inference.judging import Judging
from inference.neighbours import MessageRange
from inference.rejudgements import BEGINNING, Rejudgement, Rejudgements, ToJudge
from inference.store import IndexedMessage, MessageKey, Place, Placed

BATCH: Final = 200
"""Number of messages that are judged, published and recorded together. An interruption repeats at most one batch."""


async def what_would_change(
    rejudgements: Rejudgements, judging: Judging, since: int, progress: Callable[[int], None] = lambda _: None
) -> Differences:
    """Judge the stored messages in a dry run and compare the results with the stored verdicts.

    Nothing is announced.

    Args:
        since: Earliest time of the messages, in microseconds since 1970.
        progress: Called with the number of messages in each batch.
    """
    found, position = Differences(), BEGINNING
    while page := await rejudgements.page(since, position, BATCH):
        _count(found, page, await judging.verdicts(await _ranges(judging, page)))
        position = page[-1].position
        progress(len(page))
    return found


async def rejudge(
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
    found, position = Differences(Counter(run.counts)), run.position
    while page := await rejudgements.page(run.since, position, BATCH):
        stored_at = {one.key: one.stored_at for one in page}

        def headers(message: IndexedMessage, stored_at: dict[MessageKey, int] = stored_at) -> Headers:
            # The time of the texts is the time when they were stored, so that a later erasure covers them.
            return derived_headers(log_time=stored_at[message.key])

        judged = await judging.judge(lambda page=page: _ranges(judging, page))  # type: ignore[misc]
        await judging.publish(judged, headers=headers)
        _count(found, page, judged.pairs)
        position = page[-1].position
        await rejudgements.note(run.epoch, position, found.counts)
        progress(len(page))
    await rejudgements.finish(run.epoch)
    return found


async def _ranges(judging: Judging, page: Sequence[ToJudge]) -> list[MessageRange]:
    """Return a page of messages as ranges that include the preceding messages."""
    places: list[Place] = [one.place for one in page]
    wanted = {one.key for one in page}
    scopes = sorted({place.scope for place in places})
    found = zip(scopes, await judging.store.around(places, NEIGHBOURHOOD), strict=True)
    return [
        MessageRange(
            rows, [n for n, p in enumerate(rows) if p.indexed.key in wanted and p.indexed.thread == scope.thread]
        )
        for scope, rows in found
    ]


def _count(found: Differences, page: Sequence[ToJudge], pairs: Sequence[tuple[Placed, Verdict]]) -> None:
    before = {one.key: one.before for one in page}
    for placed, verdict in pairs:
        key = placed.indexed.key
        found.add(Example(key, before[key], AnnouncedVerdict.of(verdict), placed.indexed.message.text))
