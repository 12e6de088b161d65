"""Statements that fill the index of turns."""

from __future__ import annotations

from typing import Final

from inference.turns import TurnKey

LOCK: Final = "select pg_advisory_xact_lock(hashtext('inference turns'), h) from unnest($1::int[]) h"
LOCKS: Final = 2**31 - 1
QUESTION: Final = ("user_order", "user_message_id", "user_id", "user_text")
REPLY: Final = (
    *("assistant_said_at", "agent_message_id", "agent_id", "assistant_text", "intent", "strategy"),
    *("validation_outcome", "quality_score", "track_id", "bundle_id"),
)
COLUMNS: Final = (*TurnKey._fields, "at", *QUESTION, *REPLY)
TYPES: Final = {"at": "bigint", "user_order": "bigint", "assistant_said_at": "bigint", "quality_score": "float8"}
_ASKED: Final = """(excluded.user_order is not null and (t.user_order is null
    or (excluded.user_order, excluded.user_message_id collate "C", excluded.user_text collate "C")
        > (t.user_order, t.user_message_id collate "C", t.user_text collate "C")))"""
_REPLIED: Final = """(excluded.assistant_said_at is not null and (t.assistant_said_at is null
    or (excluded.assistant_said_at, excluded.agent_message_id collate "C", excluded.assistant_text collate "C")
        > (t.assistant_said_at, t.agent_message_id collate "C", t.assistant_text collate "C")))"""
_SETS: Final = ", ".join(
    [f"{name} = case when {_ASKED} then excluded.{name} else t.{name} end" for name in QUESTION]
    + [f"{name} = case when {_REPLIED} then excluded.{name} else t.{name} end" for name in REPLY]
)
_TAKEN: Final = ", ".join(f"${n}::{TYPES.get(name, 'text')}[]" for n, name in enumerate(COLUMNS, 1))
JOIN: Final = f"""
insert into turns as t ({", ".join(COLUMNS)}) select * from unnest({_TAKEN})
on conflict (conversation_id, turn_id, tenant, project) do update set at = least(t.at, excluded.at), {_SETS}
where {_ASKED} or {_REPLIED} or excluded.at < t.at or (t.at is null and excluded.at is not null)
"""
KEYS: Final = "unnest($1::text[], $2::text[], $3::text[], $4::text[])"
SAME_TURN: Final = "({0}.tenant, {0}.project, {0}.conversation_id, {0}.turn_id)"
ON_TURN: Final = f"{SAME_TURN.format('t')} = {SAME_TURN.format('k')}"
HELD: Final = """
select v.tenant, v.project, v.conversation_id, v.turn_id from verdicts v
join unnest($1::text[], $2::text[], $3::text[]) k (tenant, project, message_id)
  on v.tenant = k.tenant and v.project = k.project and v.message_id = k.message_id
where v.turn_id is not null
"""
SPEAK: Final = """
insert into verdicts as v (tenant, project, conversation_id, turn_id, message_id, detected_in_turn_id, status,
    confidence, correction_type, decided_by, announced, at, evaluation)
select * from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[],
    $8::float8[], $9::text[], $10::text[], $11::boolean[], $12::bigint[], $13::bigint[])
on conflict (message_id, tenant, project) do update set
    conversation_id = excluded.conversation_id, turn_id = excluded.turn_id,
    detected_in_turn_id = excluded.detected_in_turn_id, status = excluded.status, confidence = excluded.confidence,
    correction_type = excluded.correction_type, decided_by = excluded.decided_by, announced = excluded.announced,
    at = excluded.at, evaluation = excluded.evaluation
where excluded.evaluation >= v.evaluation
"""
STUBS: Final = f"""
insert into turns (tenant, project, conversation_id, turn_id) select * from {KEYS} on conflict do nothing
"""
BY_MACHINE: Final = f"""
update turns t set machine_status = k.status, machine_confidence = k.confidence,
    machine_detected_in = k.detected_in_turn_id, machine_message_id = k.message_id
from (
    select u.*, v.status, v.confidence, v.detected_in_turn_id, v.message_id
    from {KEYS} u (tenant, project, conversation_id, turn_id) left join lateral (
        select * from verdicts v where {SAME_TURN.format("v")} = {SAME_TURN.format("u")}
        order by v.announced desc, v.at desc, v.message_id desc limit 1) v on true
) k
where {ON_TURN} and (t.machine_status, t.machine_confidence, t.machine_detected_in, t.machine_message_id)
    is distinct from (k.status, k.confidence, k.detected_in_turn_id, k.message_id)
"""
JUDGE: Final = """
insert into explicit_feedback as f (feedback_id, tenant, project, conversation_id, turn_id, user_id, status, said,
    tags, correction, at, revision)
select j.feedback_id, j.tenant, j.project, j.conversation_id, j.turn_id, j.user_id, j.status, j.said,
    array(select jsonb_array_elements_text(j.tags::jsonb)), j.correction, j.at, j.revision
from unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[],
    $9::text[], $10::text[], $11::bigint[], $12::bigint[])
    j (feedback_id, tenant, project, conversation_id, turn_id, user_id, status, said, tags, correction, at, revision)
on conflict (feedback_id) do update set status = excluded.status, said = excluded.said, tags = excluded.tags,
    correction = excluded.correction, at = excluded.at, revision = excluded.revision
where excluded.revision > f.revision
returning feedback_id
"""
FORGET: Final = """
delete from explicit_feedback where feedback_id = any($1::uuid[])
returning tenant, project, conversation_id, turn_id
"""
WHOSE: Final = (
    "select tenant, project, conversation_id, turn_id from explicit_feedback where feedback_id = any($1::uuid[])"
)
BY_PEOPLE: Final = f"""
update turns t set explicit_status = k.status, explicit_feedback_id = k.feedback_id
from (
    select u.*, f.status, f.feedback_id
    from {KEYS} u (tenant, project, conversation_id, turn_id) left join lateral (
        select * from explicit_feedback f
        where {SAME_TURN.format("f")} = {SAME_TURN.format("u")} and f.status is not null
        order by f.at desc, f.feedback_id desc limit 1) f on true
) k
where {ON_TURN} and (t.explicit_status, t.explicit_feedback_id) is distinct from (k.status, k.feedback_id)
"""
