"""Subject access: the archive equals a search of every table, topic and object, and has every place of an erasure."""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import asyncpg

from contracts.erasure import Person
from contracts.topics import TOPICS
from servicekit.clock import SystemClock
from servicekit.log.reader import records_of
from servicekit.log.records import Message
from standalone.operations.log_access import LogTarget
from standalone.operations.subject_access import archive_of
from standalone.programs import PROGRAMS
from tests.flow.test_erased_columns import _run_now, stack_with_everything
from tests.support.databases import SCHEMAS
from tests.support.erasures import erased
from tests.support.running_stack import RunningStack, message, reaction, reply

PEOPLE = [f"person-{letter}" for letter in "abcdefghij"]


DERIVED = {
    "inference.verdicts",
    "feedback.buckets",
}
"""Tables whose rows a search by id or words need not find; full buckets and applied changes are deleted meanwhile."""


def words_of(user: str) -> str:
    """Return a word that only this person writes, and that does not contain the id."""
    return f"zanzibar-{user[-1] * 5}"


async def everybody_talks(stack: RunningStack) -> None:
    """Ten people in one conversation: each asks, rejects, reacts on the neighbour's turn, judges and waits."""
    events: list[dict[str, Any]] = []
    for n, user in enumerate(PEOPLE):
        said, minute = words_of(user), f"2026-01-01T10:{n:02}"
        place = {"senderId": user, "userType": "paid"}
        events += [
            message(f"q{n}", "c1", turn=f"t{n}", content=f"Where is {said}?", occurredAt=f"{minute}:00Z", **place),
            message(f"a{n}", "c1", turn=f"t{n}", agent="bot", occurredAt=f"{minute}:10Z"),
            message(
                f"n{n}", "c1", turn=f"n{n}", content=f"No, wrong, I meant {said}.", occurredAt=f"{minute}:20Z", **place
            ),
        ]
        for original, name in ((f"a{n}", f"r{n}"), ("never-published", f"w{n}")):
            one = message(name, "c1", content=f"No: {said}", occurredAt=f"{minute}:30Z", **place)
            events.append(reply(one, original))
        other = PEOPLE[(n + 1) % len(PEOPLE)]
        quoted = message(f"q{(n + 1) % 10}", "c1", senderId=other, content=f"Where is {words_of(other)}?")
        quoted = {name: quoted[name] for name in ("messageId", "conversationId", "senderId", "senderType", "content")}
        at = f"{minute}:40Z"
        events.append(reaction(f"q{(n + 1) % 10}", "c1", user=user, occurredAt=at, original=quoted))
    await stack.publish(*events)
    await stack.publish(message("elsewhere", "c9", tenant="globex", senderId=PEOPLE[0], content=words_of(PEOPLE[0])))
    broken = [
        Message("chat.message.ingested", None, json.dumps(one | {"occurredAt": "never"}).encode())
        for one in events[:10]
    ]
    broken.append(Message("chat.message.ingested", None, b'{"senderId": "person-c", %s' % (b"x" * 60)))
    await stack.stack.log.send(broken)
    await settled(stack)
    async with stack.client() as http:
        for n, user in enumerate(PEOPLE):
            said = words_of(user)
            body = {"reaction": "not_ok", "text": said, "correction": said, "tags": [said], "user_id": user}
            for turn in (f"t{n}", f"t{(n + 1) % 10}"):
                answer = await http.post(f"/conversations/acme/support/c1/turns/{turn}/feedback", json=body)
                assert answer.status_code == 202, answer.text
    await settled(stack)
    await _count(stack)


async def _count(stack: RunningStack) -> None:
    await stack.rows("update reporting.stale_hours set marked_at = marked_at - interval '1 hour'")
    for name in ("rollups", "artifacts", "issues"):
        await _run_now(stack, name)


async def settled(stack: RunningStack) -> None:
    """Wait until every group has processed everything; this is more than usual."""
    async with asyncio.timeout(180):
        await stack.stack.quiet()


async def archive(stack: RunningStack, user: str) -> dict[str, Any]:
    target = LogTarget(stack.broker.bootstrap, stack.database_url)
    return await archive_of(Person("acme", user), target, stack.database_url, SystemClock())


async def tables_holding(stack: RunningStack, *texts: str) -> Counter[str]:
    """Return the number of rows of acme's, by table, with any of `texts` in any column, as text or in bytes."""
    connection = await asyncpg.connect(stack.database_url)
    try:
        tables = await connection.fetch(
            "select table_schema, table_name, count(*) filter (where column_name = 'tenant') as tenants "
            "from information_schema.columns join information_schema.tables using (table_schema, table_name) "
            "where table_type = 'BASE TABLE' and table_schema = any($1::text[]) group by 1, 2",
            list(SCHEMAS),
        )
        found: Counter[str] = Counter()
        for schema, table, tenants in tables:
            of_tenant = "r.tenant = 'acme'" if tenants else "true"
            hits = await connection.fetchval(
                f'select count(*) from "{schema}"."{table}" r where {of_tenant} and exists (select from '
                "unnest($1::text[]) t where strpos(r::text, t) > 0 "
                "or strpos(r::text, encode(convert_to(t, 'UTF8'), 'hex')) > 0)",
                texts,
            )
            found += Counter({f"{schema}.{table}": hits})
        return found
    finally:
        await connection.close()


async def topics_holding(stack: RunningStack, *texts: str) -> Counter[str]:
    """Return the number of records of acme's, by topic, with any of `texts` in the value."""
    topics = [name for topic in TOPICS for name in (topic.name, topic.dead_letters)]
    found: Counter[str] = Counter()
    async for records in records_of(stack.broker.bootstrap, topics):
        for one in records:
            value = (one.value or b"").decode()
            if any(text in value for text in texts) and "globex" not in value:
                found[one.topic] += 1
    return found


def files_holding(folder: Path, texts: Sequence[str]) -> list[str]:
    return [str(one) for one in folder.rglob("*.json") if any(text in one.read_text("utf-8") for text in texts)]


async def test_the_archive_equals_a_search_for_ten_people(postgres_url: str, tmp_path: Path) -> None:
    async with stack_with_everything(postgres_url, tmp_path) as stack:
        await everybody_talks(stack)
        for user in PEOPLE:
            texts, held = (user, words_of(user)), await archive(stack, user)
            rows = Counter({name: len(found) for name, found in held["tables"].items() if name not in DERIVED})
            rows["feedback.feedback"] = len(held["feedback_store"])
            found = await tables_holding(stack, *texts)
            assert {name: n for name, n in found.items() if name not in DERIVED | {"reporting.hosted_artifacts"}} == {
                name: n for name, n in rows.items() if n and name != "reporting.hosted_artifacts"
            }, user
            log = Counter({topic: len(records) for topic, records in held["log"].items()})
            log.update(one["topic"] for one in held["unreadable_records"])
            assert log == await topics_holding(stack, *texts), user
            # A search in files finds the words; the person's own reaction without a text has only its row's name.
            own = [one for one in held["objects"] if any(text in json.dumps(one) for text in texts)]
            assert len(own) == len(files_holding(tmp_path / "artifacts", texts)) > 0
            others = [words_of(other) for other in PEOPLE if other != user]
            assert not [word for word in others if word in json.dumps(held)], "words of other people"
            assert "globex" not in json.dumps(held)


async def test_what_an_erasure_changes_was_in_the_archive_and_nothing_of_it_is_left(
    postgres_url: str, tmp_path: Path
) -> None:
    """In both directions: the archive's rows are erased unless the service's page says why they stay."""
    user = PEOPLE[2]
    async with stack_with_everything(postgres_url, tmp_path) as stack:
        await everybody_talks(stack)
        before, held = await tables_holding(stack, user, words_of(user)), await archive(stack, user)
        await erased(stack, user)
        await settled(stack)
        await _count(stack)
        after = await archive(stack, user)
        stays = {f"{one.name}.{table}" for one in PROGRAMS for table in one.leaves}
        has_rows = {name for name, rows in held["tables"].items() if rows}
        assert before.keys() - {"feedback.feedback"} <= has_rows
        left = {name for name, rows in after["tables"].items() if rows}
        assert left <= stays | {"inference.messages"}
        assert words_of(user) not in json.dumps(after["tables"]) + json.dumps(after["objects"])
        assert has_rows - left == has_rows - stays - {"inference.messages"}
        assert [one["slots"] for one in after["feedback_store"]] == [None] * len(after["feedback_store"])


def test_every_table_that_names_a_person_is_held() -> None:
    columns = {"user_id", "user_id_or_null", "sender_id", "asker_id", "author_id"}
    found = set()
    for service in SCHEMAS:
        table = ""
        for line in SCHEMAS[service].splitlines():
            if created := re.match(r"create (?:unlogged )?table (\w+)", line):
                table = created[1]
            elif line.startswith(")"):
                table = ""
            elif table and line.startswith("    ") and line.split()[0] in columns:
                found.add(f"{service}.{table}")
    held = {f"{one.name}.{table}" for one in PROGRAMS for table in one.holds}
    # The feedback store is read through its port, and the bridge's messages name only agents.
    assert found - {"feedback.feedback", "chat_bridge.messages"} <= held


# After a person's erasure no response, page, export or artifact contains their id until they write again.

EVE = "eve@example.org"


PROJECT = "/conversations/acme/support"


WINDOW = {"start": "2026-01-01T00:00:00Z", "end": "2027-01-01T00:00:00Z"}


FIGURES = f"start={WINDOW['start']}&end={WINDOW['end']}"


def questions(conversation: str) -> list[tuple[str, str, Any]]:
    """Return all requests that show the conversation; none of them names the person."""
    here = f"{PROJECT}/{conversation}"
    return [
        ("GET", f"/dashboard/conversation?at=acme/support&id={conversation}", None),
        ("GET", "/dashboard/feedback?at=acme/support", None),
        ("POST", f"{PROJECT}/feedback/conversations-in-period", WINDOW | {"include_turns": True}),
        ("POST", f"{PROJECT}/feedback/search", WINDOW | {"conversation_id": conversation}),
        (
            "POST",
            f"{PROJECT}/feedback/artifacts",
            {"conversation_id": conversation, "days": 3650, "with_payload": True, "kinds": ["turn.log"]},
        ),
        ("POST", f"{PROJECT}/feedback/artifacts", {"conversation_id": conversation, "days": 3650}),
        ("POST", f"{here}/turns-with-feedbacks", {"days": 3650}),
        ("POST", f"{here}/feedback/latest", {}),
        *(("GET", f"{PROJECT}/exports/{wanted}?everyone=true&{FIGURES}", None)
          for wanted in ("kto", "dpo", "sft", "events")),
        ("GET", f"{here}/turns/t1/metadata", None),
        ("GET", f"{here}/turns/alone/metadata", None),
        ("POST", f"{PROJECT}/strategies/search", {"intent": "hours"}),
        ("POST", f"{here}/detect", {"text": "No, that is wrong.", "ts": "2026-01-01T10:05:00Z", "user_id": "bob"}),
        ("POST", f"{here}/detect", {"text": "No, that is wrong.", "user_id": "bob", "look_back": "user"}),
    ]  # fmt: skip


async def shown(stack: RunningStack, conversation: str, text: str) -> set[str]:
    """Return the paths whose responses contain `text`, with @ escaped or not."""
    found = set()
    async with stack.client() as http:
        for method, path, body in questions(conversation):
            answer = await http.request(method, path, json=body)
            assert answer.status_code == 200, (path, answer.text)
            if text in answer.text.replace("%40", "@").replace("&#64;", "@"):
                found.add(path.split("?")[0].removeprefix(PROJECT))
    return found


def said(name: str, conversation: str, at: str, **fields: Any) -> dict[str, Any]:
    return dict(message(name, conversation, occurredAt=f"2026-01-01T10:0{at}Z", **fields))


async def everything(stack: RunningStack, conversation: str) -> list[dict[str, Any]]:
    """Publish messages of Eve with and without a turn or text, and her rejection, reply, emoji and judgement."""
    events = [
        said("q", conversation, "0:00", turn="t1", senderId=EVE),
        said("a", conversation, "0:05", turn="t1", agent="bot", intent="hours", strategy="lookup"),
        said("no", conversation, "1:00", turn="t2", senderId=EVE, content="No, that's wrong, I asked for the price."),
        said("alone-q", conversation, "2:00", senderId=EVE, content="And on Sundays?"),
        said("alone", conversation, "2:05", agent="bot", intent="hours", strategy="lookup"),
        said("picture", conversation, "3:00", turn="t4", senderId=EVE, content=""),
        reply(said("r", conversation, "4:00", senderId=EVE, content="Thanks, great!"), "a"),
    ]  # fmt: skip
    await stack.publish(*events)
    await stack.quiet()
    async with stack.client() as http:
        body = {"reaction": "not_ok", "text": "wrong", "correction": "At ten.", "user_id": EVE}
        answer = await http.post(f"{PROJECT}/{conversation}/turns/t1/feedback", json=body)
    assert answer.status_code == 202, answer.text
    await stack.quiet()
    return events


async def test_nothing_shows_the_id_of_an_erased_person(stack: RunningStack) -> None:
    events = await everything(stack, "ids")
    before = await shown(stack, "ids", EVE)
    assert before >= {
        "/dashboard/conversation", "/dashboard/feedback", "/feedback/search", "/feedback/artifacts",
        "/ids/turns-with-feedbacks", "/ids/feedback/latest", "/exports/events",
        "/ids/turns/t1/metadata", "/ids/turns/alone/metadata", "/strategies/search",
    }  # fmt: skip

    await erased(stack, EVE)
    await stack.quiet()
    assert await shown(stack, "ids", EVE) == set()
    assert "/dashboard/conversation" in await shown(stack, "ids", "<b>A person</b>")

    await stack.publish(*events)  # a replay
    # The answer is judged again when a message arrives before it.
    await stack.publish(said("before", "ids", "1:30", senderId="bob", content="Hello."))
    await stack.quiet()
    assert await shown(stack, "ids", EVE) == set()
