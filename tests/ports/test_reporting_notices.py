"""Notices of resolved issues in PostgreSQL: who is told, once, and what the event contains."""

from __future__ import annotations

import asyncio
import json
import random
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import asyncpg
import pytest

from contracts.erasure import ERASURE_MARGIN, Erasure, Person
from contracts.instants import DAY, MINUTE, SECOND, format_instant
from reporting.issues.notices import ResolutionAnnouncer
from reporting.issues.store import IssueChange, IssueState, change, merge
from reporting.queries.selection import Project
from reporting.read_models.erasure import ReportingErasures
from servicekit.clock import FixedClock
from servicekit.db.erasure_ledger import ErasureLedger
from servicekit.errors import LogUnavailable
from tests.support.filled_rows import insert
from tests.support.logs import RecordingLog
from tests.support.reporting_events import START, Event, Take, feedback, feedback_id

AT = Project("acme", "support")
HOUR = 60 * MINUTE
RESOLVED = START + DAY
TOPIC = "feedback.resolved"


async def issue_with(pool: asyncpg.Pool, turns: Sequence[str], **more: Any) -> int:
    """Insert an open issue of the agent `agent-a` with these turns of the conversation c1. Return its id."""
    place = {"tenant": "acme", "project": "support"} | more
    values = [*place.values(), "agent-a", "topics", START]
    made: int = await pool.fetchval(
        "insert into issues (tenant, project, agent_id, encoder, state_at) values ($1, $2, $3, $4, $5) returning id",
        *values,
    )
    rows = [
        {**place, "conversation_id": "c1", "turn_id": turn, "agent_id": "agent-a", "issue_id": made, "user_id": "first"}
        for turn in turns
    ]
    await insert(pool, "issue_turns", *rows)
    return made


async def set_state(
    pool: asyncpg.Pool, issue: int, state: IssueState, at: int = RESOLVED, version: str | None = "2", note: str = "x"
) -> None:
    assert await change(pool, AT, issue, IssueChange(state, version, "ann", note), at)


def announcer(pool: asyncpg.Pool, log: Any, now: int = RESOLVED + HOUR, minutes: float = 60) -> ResolutionAnnouncer:
    return ResolutionAnnouncer(pool, log, FixedClock(now), minutes=minutes, days=7)


def told(log: RecordingLog) -> list[str]:
    return sorted(event["userId"] for event in log.values(TOPIC))


def no(name: str, **more: Any) -> Event:
    return feedback(name, reaction="not_ok", **{"kind": "explicit", "user": name, "text": "Secret words.", **more})


async def test_each_person_is_told_once_with_their_own_turns(read_models: asyncpg.Pool, take: Take) -> None:
    issue = await issue_with(read_models, ["t1", "t2"])
    await take(
        no("ann"), no("ann2", user="ann", turn="t2", at=9, kind="inferred"), no("bob", kind="reaction", at=5),
        no("cy", kind="inferred", turn="t2", at=7), no("dan", turn="t3"),
    )  # fmt: skip
    await set_state(read_models, issue, "resolved", note="Ann's secret.")
    log = RecordingLog()
    assert await announcer(read_models, log).sweep() == 3
    assert await announcer(read_models, log).sweep() == 0
    ann, bob, cy = sorted(log.values(TOPIC), key=lambda event: event["userId"])
    assert ann == {
        "eventId": ann["eventId"], "occurredAt": format_instant(RESOLVED), "sequence": None, "tenant": "acme",
        "version": 1, "project": "support", "userId": "ann", "issueId": issue, "resolution": 1, "resolvedIn": "2",
        "agentId": "agent-a", "origin": "user", "rejectedAt": format_instant(START + 9 * SECOND), "turnCount": 2,
        "turns": [{"conversationId": "c1", "turnId": "t2"}, {"conversationId": "c1", "turnId": "t1"}],
    }  # fmt: skip
    assert [(one["userId"], one["origin"], one["turnCount"]) for one in (bob, cy)] == [
        ("bob", "user", 1), ("cy", "machine", 1),
    ]  # fmt: skip
    assert [message.key for message in log.messages] == ["acme/ann", "acme/bob", "acme/cy"]
    assert "ecret" not in json.dumps(log.values(TOPIC))


async def test_a_resolution_counts_once_until_it_is_another(read_models: asyncpg.Pool, take: Take) -> None:
    issue = await issue_with(read_models, ["t1"])
    await take(no("ann"))
    log = RecordingLog()
    await set_state(read_models, issue, "resolved")
    await announcer(read_models, log).sweep()
    await set_state(read_models, issue, "resolved", RESOLVED + HOUR, version="3", note="another")
    await announcer(read_models, log, RESOLVED + 3 * HOUR).sweep()
    assert [event["resolution"] for event in log.values(TOPIC)] == [1]
    await set_state(read_models, issue, "open", RESOLVED + 4 * HOUR)
    await set_state(read_models, issue, "resolved", RESOLVED + 5 * HOUR)
    await announcer(read_models, log, RESOLVED + 9 * HOUR).sweep()
    first, second = log.values(TOPIC)
    assert (second["resolution"], second["occurredAt"]) == (2, format_instant(RESOLVED + 5 * HOUR))
    assert first["eventId"] != second["eventId"]


@pytest.mark.parametrize("state", ["open", "muted", "regressed", "merged"])
async def test_a_resolution_that_did_not_stand_tells_nobody(
    read_models: asyncpg.Pool, take: Take, state: IssueState | str
) -> None:
    issue, other = await issue_with(read_models, ["t1"]), await issue_with(read_models, ["t2"])
    await take(no("ann"))
    await set_state(read_models, issue, "resolved")
    log = RecordingLog()
    await announcer(read_models, log, RESOLVED + HOUR - 1).sweep()
    assert log.messages == [], "the delay is not over"
    if state == "merged":
        assert await merge(read_models, AT, issue, other, RESOLVED + 1)
    elif state == "regressed":
        await read_models.execute("update issues set state = 'regressed' where id = $1", issue)
    else:
        await set_state(read_models, issue, state, RESOLVED + 1)  # type: ignore[arg-type]
    await announcer(read_models, log).sweep()
    assert log.messages == []


async def test_late_rejections_are_told_for_a_week_and_later_ones_never(read_models: asyncpg.Pool, take: Take) -> None:
    issue = await issue_with(read_models, ["t1"])
    await set_state(read_models, issue, "resolved")
    log = RecordingLog()
    await take(no("ann"), no("new", at=86_400.000001))
    await announcer(read_models, log, RESOLVED + 7 * DAY - 1).sweep()
    await take(no("late", at=86_400))
    await announcer(read_models, log, RESOLVED + 7 * DAY - 1).sweep()
    await take(no("too-late"))
    await announcer(read_models, log, RESOLVED + 7 * DAY).sweep()
    assert told(log) == ["ann", "late"]


async def test_who_did_not_say_so_is_not_told(read_models: asyncpg.Pool, take: Take) -> None:
    issue = await issue_with(read_models, [f"t{n}" for n in range(9)])
    overruled: dict[str, Any] = {"kind": "inferred", "reaction": None, "overruled_reaction": "not_ok"}
    review: dict[str, Any] = {"origin": "reviewer", "user": "rev", "kind": "explicit", "source": "review", "at": 50}
    await take(
        no("retracted"), feedback("retracted", kind="explicit", reaction=None, user="retracted", revision=2, at=2),
        no("changed"), feedback("emoji", kind="reaction", reaction="ok", user="changed", at=3),
        feedback("fine", reaction="ok", user="fine"), feedback("meh", reaction="neutral", user="meh"),
        no("robot", user_type="agent"), no("elsewhere", agent="agent-b"), no("foreign", tenant="globex"),
        feedback("denied", user="denied", turn="t2", overruled_by=feedback_id("r2"), **overruled),
        feedback("r2", reaction="ok", turn="t2", **review),
        feedback("confirmed", user="confirmed", turn="t3", overruled_by=feedback_id("r3"), **overruled),
        feedback("r3", reaction="not_ok", turn="t3", **review),
    )  # fmt: skip
    await set_state(read_models, issue, "resolved")
    log = RecordingLog()
    await announcer(read_models, log).sweep()
    assert told(log) == ["confirmed"]


async def test_a_person_is_shown_the_last_twenty_turns(read_models: asyncpg.Pool, take: Take) -> None:
    issue = await issue_with(read_models, [f"t{n}" for n in range(30)])
    await take(*(no(f"f{n}", user="ann", turn=f"t{n}", at=n) for n in range(30)))
    await set_state(read_models, issue, "resolved")
    log = RecordingLog()
    await announcer(read_models, log).sweep()
    [event] = log.values(TOPIC)
    assert (event["turnCount"], [one["turnId"] for one in event["turns"]]) == (30, [f"t{n}" for n in range(29, 9, -1)])


async def erase(pool: asyncpg.Pool, user: str, at: int) -> None:
    await ErasureLedger(pool).note([Erasure(Person("acme", user), "r", at)])
    await ReportingErasures(pool).erase({Person("acme", user): at})


async def test_an_erased_person_is_not_told(read_models: asyncpg.Pool, take: Take) -> None:
    issue = await issue_with(read_models, ["t1", "t2"])
    await take(no("eve"), no("back"), no("bob"), no("again", user="back", turn="t2", at=3_000))
    await set_state(read_models, issue, "resolved")
    # The ledger precedes the deletion of rows.
    for user in ("eve", "back"):
        await ErasureLedger(read_models).note([Erasure(Person("acme", user), "r", START + SECOND)])
    log = RecordingLog()
    await announcer(read_models, log).sweep()
    assert {event["userId"]: event["turnCount"] for event in log.values(TOPIC)} == {"bob": 1, "back": 1}
    await erase(read_models, "bob", START + DAY)
    left = await read_models.fetch("select user_id from resolution_notices")
    assert [row["user_id"] for row in left] == ["back"]


@pytest.mark.parametrize(("moment", "is_told"), [(ERASURE_MARGIN, False), (ERASURE_MARGIN + 1, True)])
async def test_who_rejects_again_after_the_margin_of_an_erasure_is_told(
    read_models: asyncpg.Pool, take: Take, moment: int, is_told: bool
) -> None:
    issue = await issue_with(read_models, ["t1"])
    await ErasureLedger(read_models).note([Erasure(Person("acme", "eve"), "r", START)])
    await take(no("eve").model_copy(update={"occurred_at": START + moment}))
    await set_state(read_models, issue, "resolved")
    log = RecordingLog()
    await announcer(read_models, log).sweep()
    assert told(log) == (["eve"] if is_told else [])


async def test_an_erasure_between_note_and_announcement_keeps_the_event_back(
    read_models: asyncpg.Pool, take: Take
) -> None:
    issue = await issue_with(read_models, ["t1"])
    await take(no("eve"), no("bob"))
    await set_state(read_models, issue, "resolved")

    class Down(RecordingLog):
        async def send(self, messages: Sequence[Any]) -> Any:
            raise LogUnavailable("down")

    with pytest.raises(LogUnavailable):
        await announcer(read_models, Down()).sweep()
    assert await read_models.fetchval("select count(*) from resolution_notices where not announced") == 2
    await ErasureLedger(read_models).note([Erasure(Person("acme", "eve"), "r", START)])
    log = RecordingLog()
    await announcer(read_models, log).sweep()
    assert told(log) == ["bob"]


async def test_a_repeated_announcement_is_the_same_event(read_models: asyncpg.Pool, take: Take) -> None:
    issue = await issue_with(read_models, ["t1", "t2"])
    await take(no("ann"))
    await set_state(read_models, issue, "resolved")

    class Lost(RecordingLog):
        """Log that takes the first records and then does not acknowledge them."""

        async def send(self, messages: Sequence[Any]) -> Any:
            taken = await super().send(messages)
            if len(self.messages) == 1:
                raise LogUnavailable("no acknowledgement")
            return taken

    log = Lost()
    with pytest.raises(LogUnavailable):
        await announcer(read_models, log).sweep()
    await take(no("more", user="ann", turn="t2", at=5))
    await set_state(read_models, issue, "resolved", version="9")
    await announcer(read_models, log).sweep()
    first, again = log.messages
    assert (first.value, first.key) == (again.value, again.key)


async def test_processes_that_sweep_at_the_same_time_tell_each_person(read_models: asyncpg.Pool, take: Take) -> None:
    turns = [f"t{n}" for n in range(40)]
    issue = await issue_with(read_models, turns)
    await take(*(no(f"u{n}", turn=f"t{n}") for n in range(40)))
    await set_state(read_models, issue, "resolved")
    logs = [RecordingLog() for _ in range(4)]
    await asyncio.gather(*(announcer(read_models, log).sweep() for log in logs))
    ids: defaultdict[str, set[bytes | None]] = defaultdict(set)
    for log in logs:
        for message, event in zip(log.messages, log.values(TOPIC), strict=True):
            ids[event["userId"]].add(message.value)
    assert set(ids) == {f"u{n}" for n in range(40)}
    assert all(len(values) == 1 for values in ids.values())


def recount(said: Sequence[Any], turns: set[str], erased_at: dict[str, int]) -> dict[str, tuple[str, int]]:
    """Return origin and number of turns by person, from the feedback alone."""
    state: dict[Any, Any] = {}
    for one in said:
        if one.feedback_id not in state or one.revision > state[one.feedback_id].revision:
            state[one.feedback_id] = one
    rejected: defaultdict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    slots: defaultdict[tuple[str, str], list[Any]] = defaultdict(list)
    for one in state.values():
        if one.turn_id not in turns:
            continue
        if one.user_id in erased_at and one.occurred_at <= erased_at[one.user_id] + 300 * SECOND:
            continue
        if one.origin == "machine":
            if one.reaction == "not_ok" and one.occurred_at <= RESOLVED:
                rejected[one.user_id][one.turn_id].add("machine")
        elif one.feedback_type == "explicit" or one.reaction is not None:
            slots[one.user_id, one.turn_id].append(one)
    for (user, turn), candidates in slots.items():
        newest = max(candidates, key=lambda one: (one.occurred_at, one.feedback_id))
        if newest.reaction == "not_ok" and newest.occurred_at <= RESOLVED:
            rejected[user][turn].add("user")
    return {
        user: ("user" if any("user" in kinds for kinds in by_turn.values()) else "machine", len(by_turn))
        for user, by_turn in rejected.items()
    }


@pytest.mark.parametrize("seed", range(4))
async def test_a_random_history_in_any_order_tells_whom_a_recount_finds(
    read_models: asyncpg.Pool, take: Take, seed: int
) -> None:
    choose = random.Random(seed)
    issue = await issue_with(read_models, [f"t{n}" for n in range(25)])
    said: list[Any] = []
    for n in range(1_500):
        kind = choose.choice(["explicit", "reaction", "inferred"])
        user, turn = f"u{choose.randrange(120)}", f"t{choose.randrange(40)}"
        name = f"{kind} {user} {turn}"
        reaction = choose.choice(["not_ok", "not_ok", "ok", "neutral", None])
        at = choose.randrange(2 * 86_400)
        said.append(feedback(name, kind=kind, reaction=reaction, user=user, turn=turn, at=at, revision=n + 1))
    await set_state(read_models, issue, "resolved")
    log = RecordingLog()
    erased_at = {f"u{n}": START + choose.randrange(2 * 86_400) * SECOND for n in range(10)}
    for user, at in erased_at.items():
        await ErasureLedger(read_models).note([Erasure(Person("acme", user), "r", at)])
    order = choose.sample(said, len(said))
    for start in range(0, len(order), 300):
        await take(*order[start : start + 300])
    for user, at in erased_at.items():
        await ReportingErasures(read_models).erase({Person("acme", user): at})
    await announcer(read_models, log).sweep()
    found = {event["userId"]: (event["origin"], event["turnCount"]) for event in log.values(TOPIC)}
    expected = recount(said, {f"t{n}" for n in range(25)}, erased_at)
    assert len(expected) > 60
    assert found == expected
    assert len(log.messages) == len(found)
