"""Replay of event files: batches in order, progress in bytes, and an account of each line."""

from __future__ import annotations

import json
from pathlib import Path

from contracts.topics import CHAT_MESSAGE
from standalone.one_process.replay import BATCH, Line, RejectedLine, ReplayResult, replay
from tests.support.logs import RecordingLog


def event(number: int, **more: object) -> str:
    fields = {"tenant": "acme", "project": "support", "conversationId": f"c{number}", **more}
    return json.dumps({"topic": CHAT_MESSAGE.name, "eventId": f"e{number}", **fields})


async def test_progress_is_told_with_each_batch_and_adds_up_to_the_files(tmp_path: Path) -> None:
    long, short = tmp_path / "long.jsonl", tmp_path / "short.jsonl"
    long.write_text("".join(f"{event(n)}\n" for n in range(2 * BATCH + 1)))
    short.write_text("no event\n")
    log, account, told = RecordingLog(), ReplayResult(), list[tuple[int, int]]()
    await replay([long, short], log, account, progress=lambda read: told.append((read, len(log.messages))))
    assert [written for _, written in told] == [BATCH, 2 * BATCH, 2 * BATCH + 1, 2 * BATCH + 1]
    sizes = [len(f"{event(n)}\n") for n in range(2 * BATCH + 1)]
    assert [read for read, _ in told] == [sum(sizes[:BATCH]), sum(sizes[BATCH : 2 * BATCH]), sizes[-1], 9]
    assert [message.key for message in log.messages] == [f"acme/support/c{n}" for n in range(2 * BATCH + 1)]
    assert (account.lines, account.events) == (2 * BATCH + 2, 2 * BATCH + 1)
    assert account.rejected == [RejectedLine(Line(str(short), 1), "not JSON")]
    assert (account.places, account.seen) == ({}, []), "they are kept on request only"


async def test_each_line_is_found_by_its_place_in_the_log(tmp_path: Path) -> None:
    file = tmp_path / "events.jsonl"
    file.write_text("\n".join(["[]", event(1), "", event(2)]))
    account = ReplayResult()
    await replay([file], RecordingLog(), account, keep_places=True)
    assert account.seen == [Line(str(file), number) for number in (1, 2, 3, 4)]
    assert account.places == {
        f"{CHAT_MESSAGE.name}:0:0": Line(str(file), 2),
        f"{CHAT_MESSAGE.name}:0:1": Line(str(file), 4),
    }


async def test_an_event_that_the_services_will_reject_is_named_on_request_and_sent(tmp_path: Path) -> None:
    file = tmp_path / "events.jsonl"
    file.write_text(event(1))
    for check, rejected in ((False, []), (True, [(1, "invalid_event")])):
        log, account = RecordingLog(), ReplayResult()
        await replay([file], log, account, check_models=check)
        assert [(one.line.number, one.reason) for one in account.rejected] == rejected
        assert (account.events, len(log.messages)) == (1, 1)
