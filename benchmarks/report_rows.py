"""Rows of the benchmark `report_pages`: feedback, messages, replies, issues and an audit, made in SQL."""

from __future__ import annotations

import time
from typing import Final

from benchmarks.workload import Say
from contracts.instants import DAY
from reporting.read_models.rollups import Rollups
from servicekit.clock import SystemClock
from servicekit.db.database import Database

NOW: Final = 1_790_000_000_000_000
DAYS: Final = 180
ANSWERS: Final = 50_000
ISSUE_TURNS: Final = 50_000
_HOUR: Final = 3_600
"""Timeout of a statement, in seconds."""
_CHUNK: Final = 100_000
_TABLES: Final = ("feedbacks", "messages")
# Properties of answer i, and those of the feedback on it.
_STRATEGY: Final = "'strategy-' || i % 60 % 5 + i / 60 % 2"
_ATTRIBUTES: Final = """jsonb_build_object(
        'language', (array['en', 'de', 'fr', 'ja'])[1 + (i / 61 % 16 / 5)::int],
        'channel', (array['web', 'app'])[1 + (i / 67 % 2)::int])"""
_OF_ANSWER: Final = f"'a' || i, 'q' || i, {_STRATEGY}, {_ATTRIBUTES}"
# Feedback i was given i steps before now.
_FILL: Final = f"""
insert into feedbacks (feedback_id, revision, recorded_at, slot, tenant, project, conversation_id, turn_id, user_id,
    user_type, agent_id, origin, feedback_type, source, reaction, value, confidence, text, tags, correction_type,
    occurred_at, rn, agent_version, model, bundle_id, intent, agent_message_id, answer_id,
    question_message_id, strategy, attributes)
select id, 1, $2, case when person then gen_random_uuid() else id end, 'acme', 'support',
    case when i <= 400 then 'c0' else 'c' || i / 8 end, 't' || case when i <= 400 then i % 200 else i end,
    'u' || i % 5000, 'human', 'agent-' || i % 60, case when person then 'user' else 'machine' end,
    case when person then 'explicit' else 'inferred' end, 'chat', reaction, 0.5,
    case when person then 1 else 0.7 + 0.3 * random() end, 'no that is wrong ' || i,
    case when person and i % 40 = 0 then array['wrong'] when person then '{{}}'
        else array['en.wrong', 'learned.reject'] end,
    case when not person and reaction = 'not_ok' then (array['explicit', 'rephrased', 'abandonment'])[1 + i % 3] end,
    $2 - i * ($3::bigint / $1), 'rn' || i, 'v' || i * 5 / $1, 'm' || i % 3, 'bundle-' || i % 10,
    'intent-' || i % 60 % 4 + i / 60 % 3, 'a' || i, {_OF_ANSWER}
from (
    select i::bigint, gen_random_uuid() as id, i % 4 = 0 as person,
           (array['ok', 'ok', 'not_ok', 'neutral'])[1 + (i * 7919 / 4 % 4)::int] as reaction
    from generate_series($4::bigint, $5::bigint) i
) made
"""
_REPLIES: Final = f"""
insert into feedbacks (feedback_id, revision, recorded_at, slot, tenant, project, conversation_id, turn_id, user_id,
    user_type, agent_id, origin, feedback_type, source, value, confidence, text, tags, occurred_at, rn,
    agent_version, model, answer_id, question_message_id, strategy, attributes)
select id, 1, $2, id, 'acme', 'support', case when i <= 400 then 'c0' else 'c' || i / 8 end,
    't' || case when i <= 400 then i % 200 else i end, 'u' || i % 5000, 'human', 'agent-' || i % 60, 'user', 'implicit',
    'chat', 0.4, 1, 'and that is wrong ' || i, '{{}}', $2 - i * ($3::bigint / $1) - 1, 'rn' || i, 'v' || i * 5 / $1,
    'm' || i % 3, {_OF_ANSWER}
from (select i::bigint, gen_random_uuid() as id from generate_series(1, $1::bigint, 4) i) made
"""
# The question and the answer of each feedback.
_MESSAGES: Final = f"""
insert into messages (tenant, project, conversation_id, message_id, turn_id, sender_type, sender_id, content,
    occurred_at, sequence, log_time, log_offset, has_text, text_since, version, agent_id, agent_version, model,
    bundle_id, intent, strategy, attributes)
select 'acme', 'support', case when i <= 400 then 'c0' else 'c' || i / 8 end, kind || i,
    't' || case when i <= 400 then i % 200 else i end, case kind when 'q' then 'human' else 'agent' end,
    case kind when 'q' then 'u' || i % 5000 else 'agent-' || i % 60 end,
    case kind when 'q' then 'How do I ' || verb || ' the ' || noun || ' of order ' || i % 50000 || '?'
        else 'Open the ' || noun || ' page, choose the order ' || i % 50000 || ' and ' || verb || ' it there.' end,
    $2::bigint - i * ($3::bigint / $1) - case kind when 'q' then 20 else 10 end, -1, 0, 0, true, 0, '\\x00'::bytea,
    case kind when 'a' then 'agent-' || i % 60 end, case kind when 'a' then 'v' || i * 5 / $1 end,
    case kind when 'a' then 'm' || i % 3 end, case kind when 'a' then 'bundle-' || i % 10 end,
    case kind when 'a' then 'intent-' || i % 60 % 4 + i / 60 % 3 end,
    case kind when 'a' then {_STRATEGY} end, case kind when 'a' then {_ATTRIBUTES} end
from (
    select i::bigint,
           (array['cancel', 'change', 'export', 'print', 'track', 'return', 'pay', 'find', 'share', 'archive'])
               [1 + (i * 31 % 10)::int] as verb,
           (array['invoice', 'address', 'delivery', 'refund', 'password', 'contract', 'receipt', 'voucher', 'calendar',
                  'account', 'plan', 'report'])[1 + (i * 17 / 3 % 12)::int] as noun
    from generate_series($4::bigint, $5::bigint) i
) made, unnest(array['q', 'a']) kind
"""
_ANSWERS: Final = """
insert into messages (tenant, project, conversation_id, message_id, turn_id, sender_type, sender_id, content,
    occurred_at, sequence, log_time, log_offset, has_text, text_since, version, agent_id)
select 'acme', 'audit', 'c' || i / 5, kind || i, case kind when 'a' then 't' || i end,
    case kind when 'q' then 'human' else 'agent' end,
    case kind when 'q' then 'u' || i % 5000 else 'agent-' || i % 60 end,
    repeat('Some words of a message. ', 8), $2::bigint - ($1 - i) * 50_000_000 + case kind when 'a' then 1 else 0 end,
    -1, 0, 0, true, 0, '\\x00'::bytea, case kind when 'a' then 'agent-' || i % 60 end
from generate_series(1, $1::bigint) i, unnest(array['q', 'a']) kind
"""
_VERDICTS: Final = """
insert into feedbacks (feedback_id, revision, recorded_at, slot, tenant, project, conversation_id, turn_id, user_id,
    user_type, agent_id, origin, feedback_type, source, reaction, value, confidence, tags, occurred_at, rn)
select id, 1, $2, id, 'acme', 'audit', 'c' || i / 5, 't' || i, 'u' || i % 5000, 'human', 'agent-' || i % 60,
    origin, case origin when 'machine' then 'inferred' else 'explicit' end,
    case origin when 'machine' then 'inference' else 'review' end,
    case i % 8 when 0 then 'ok' else 'not_ok' end, 0.5, 1, '{}', $2::bigint - ($1 - i) * 50_000_000 + 2, 'rn' || i
from generate_series(4, $1::bigint, $3::bigint) i
cross join lateral (select md5($4::text || i)::uuid as id, $4::text as origin) made
"""
_EXCHANGES: Final = """
insert into exchanges (tenant, project, conversation_id, answer_id, question_id, occurred_at)
select tenant, project, conversation_id, message_id, 'q' || substr(message_id, 2), occurred_at from messages
where sender_type = 'agent'
"""
_DRAWS: Final = """
insert into audit_draws (tenant, project, conversation_id, turn_id, drawn_at)
select 'acme', 'audit', 'c' || i / 5, 't' || i, $2 from generate_series(4, $1::bigint, $1 / 500) i
"""
# Twenty issues of each agent, of the newest rejections.
_ISSUES: Final = """
insert into issues (id, tenant, project, agent_id, encoder, words, state_at)
overriding system value
select agent * 20 + n + 1, 'acme', 'support', 'agent-' || agent, 'words', array['invoice', 'export', 'page' || n], $1
from generate_series(0, 59) agent, generate_series(0, 19) n
"""
_ISSUE_TURNS: Final = """
insert into issue_turns (tenant, project, conversation_id, turn_id, agent_id, agent_version, user_id, asker_id,
    by_person, occurred_at, asked_at, encoder, vector, words, issue_id, nearness)
select tenant, project, conversation_id, turn_id, agent_id, agent_version, user_id, user_id, origin = 'user',
    occurred_at, occurred_at - 20, 'words', decode(repeat('00', 768), 'hex'),
    array['invoice', 'export'],
    case when n % 10 > 0 then substr(agent_id, 7)::int * 20 + n % 20 + 1 end, random()
from (
    select distinct on (conversation_id, turn_id) *, substr(rn, 3)::bigint / 60 as n from (
        select * from feedbacks where tenant = 'acme' and project = 'support' and reaction = 'not_ok'
        order by occurred_at desc limit $1
    ) newest
) rejected
"""
_RECOUNT: Final = """
update issues i set turns = c.turns, people = c.people, first_at = c.first_at, last_at = c.last_at
from (
    select issue_id, count(*) as turns, count(distinct user_id) as people, min(occurred_at) as first_at,
           max(occurred_at) as last_at
    from issue_turns group by issue_id
) c
where i.id = c.issue_id
"""
_SESSIONS: Final = """
insert into sessions (tenant, id, recorded_at, label, turns)
select 'acme', gen_random_uuid(), $1::bigint - i * ($2::bigint / 100000), (array['good', 'ok', 'bad'])[1 + i % 3],
    1 + i % 40
from generate_series(0, 99999) i
"""
_ACCESSES: Final = """
insert into access_log (at, tenant, project, actor, action, about)
select $1::bigint - i * 60000000::bigint, 'acme', 'support', 'somebody', 'read', 'c' || i
from generate_series(0, 99999) i
"""
_STALE: Final = """
insert into stale_hours (tenant, project, hour)
select distinct tenant, project, occurred_at / 3600000000 * 3600000000 from feedbacks
"""
_INDEXES: Final = """
select c.relname as name, pg_get_indexdef(c.oid) as made_by from pg_index i join pg_class c on c.oid = i.indexrelid
where i.indrelid = $1::regclass and not i.indisprimary order by c.relname
"""


async def fill(pool: Database, feedbacks: int, say: Say) -> None:
    """Insert the rows without indexes and triggers, newest first, then build the indexes."""
    began = time.perf_counter()
    indexes = [row for table in _TABLES for row in await pool.fetch(_INDEXES, table)]
    for index in indexes:
        await pool.execute(f"drop index {index['name']}")
    async with pool.acquire() as connection:
        await connection.execute("set session_replication_role = replica")
        for first in range(1, feedbacks + 1, _CHUNK):
            last = min(first + _CHUNK - 1, feedbacks)
            for statement in (_FILL, _MESSAGES):
                await connection.execute(statement, feedbacks, NOW, DAYS * DAY, first, last, timeout=_HOUR)
        await connection.execute(_EXCHANGES, timeout=_HOUR)
        await connection.execute(_REPLIES, feedbacks, NOW, DAYS * DAY, timeout=_HOUR)
        await connection.execute(_ANSWERS, ANSWERS, NOW, timeout=_HOUR)
        await connection.execute(_VERDICTS, ANSWERS, NOW, 4, "machine", timeout=_HOUR)
        await connection.execute(_VERDICTS, ANSWERS, NOW, ANSWERS // 250, "reviewer", timeout=_HOUR)
        await connection.execute("set session_replication_role = origin")
    say(f"{feedbacks:,} feedback records with messages written in {time.perf_counter() - began:.0f} s")
    for index in indexes:
        await pool.execute(index["made_by"], timeout=_HOUR)
    for table in _TABLES:
        await pool.execute(f"vacuum analyze {table}", timeout=_HOUR)
    await pool.execute(_DRAWS, ANSWERS, NOW, timeout=_HOUR)
    await pool.execute(_ISSUES, NOW)
    await pool.execute(_ISSUE_TURNS, ISSUE_TURNS, timeout=_HOUR)
    await pool.execute(_RECOUNT)
    await pool.execute(_SESSIONS, NOW, DAYS * DAY)
    await pool.execute(_ACCESSES, NOW)
    await pool.execute(_STALE, timeout=_HOUR)
    began = time.perf_counter()
    rollups, hours = Rollups(pool, SystemClock()), 0
    while await pool.fetchval("select exists (select from stale_hours)"):
        hours += await rollups.catch_up(quiet=0)
    say(f"{hours:,} hours rolled up in {time.perf_counter() - began:.0f} s")
    await pool.execute("vacuum analyze", timeout=_HOUR)
