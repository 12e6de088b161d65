"""Statements that fill the index of turns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from inference.store import MessageKey
from inference.turns.rules import TurnKey
from inference.turns.vectors_postgres import WIRES, VectorType, Wire

LOCK: Final = "select pg_advisory_xact_lock(hashtext('inference turns'), h) from unnest($1::int[]) h"
LOCKS: Final = 2**31 - 1
QUESTION: Final = ("user_version", "user_message_id", "user_id", "user_text", "user_vector")
REPLY: Final = (
    *("assistant_version", "agent_message_id", "agent_id", "assistant_text", "assistant_vector", "intent", "strategy"),
    *("validation_outcome", "quality_score", "track_id", "bundle_id"),
)
TAKEN: Final = (*TurnKey._fields, "at", *QUESTION, *REPLY)
"""Columns of the rows that `JOIN` receives; a vector is given as an index into the packed ones."""
_TYPES: Final = (
    {"quality_score": "float8"}
    | dict.fromkeys(("at", "user_vector", "assistant_vector"), "bigint")
    | dict.fromkeys(("user_version", "assistant_version"), "bytea")
)
_LISTS: Final = ", ".join(f"${n}::{_TYPES.get(name, 'text')}[]" for n, name in enumerate(TAKEN, 1))
_MADE_BY: Final = f"${len(TAKEN) + 2}::bigint"
_VECTORS: Final = {"user_vector": "user_embedder", "assistant_vector": "assistant_embedder"}
_COLUMNS: Final = (*TAKEN, *_VECTORS.values())


def _wins(version: str, message: str, text: str, than: str) -> str:
    """Return the SQL condition that the incoming value outranks the stored one. Without a question, message and text
    are null."""
    ranks = f"({{0}}.{version}, coalesce({{0}}.{message}, '') collate \"C\", coalesce({{0}}.{text}, '') collate \"C\")"
    held = f"(t.{version} is null or {ranks.format('excluded')} {than} {ranks.format('t')})"
    return f"(excluded.{version} is not null and {held})"


_ASK: Final = ("user_version", "user_message_id", "user_text")
_ANSWER: Final = ("assistant_version", "agent_message_id", "assistant_text")
_ASKED, _REPLIED = _wins(*_ASK, ">"), _wins(*_ANSWER, ">")
# A repeated message brings the vector of the current embedder.
_ASKED_ANEW = f"({_wins(*_ASK, '>=')} and excluded.user_embedder is distinct from t.user_embedder)"
_REPLIED_ANEW = f"({_wins(*_ANSWER, '>=')} and excluded.assistant_embedder is distinct from t.assistant_embedder)"
_WHEN: Final = {
    **dict.fromkeys(QUESTION, _ASKED),
    **dict.fromkeys(REPLY, _REPLIED),
    **dict.fromkeys(("user_vector", "user_embedder"), f"({_ASKED} or {_ASKED_ANEW})"),
    **dict.fromkeys(("assistant_vector", "assistant_embedder"), f"({_REPLIED} or {_REPLIED_ANEW})"),
}
_SETS: Final = ", ".join(
    f"{name} = case when {when} then excluded.{name} else t.{name} end" for name, when in _WHEN.items()
)


def _join(wire: Wire) -> str:
    packed = f"(${len(TAKEN) + 1}::{wire.parameter})"
    made = {name: packed + wire.nth.format(place=f"k.{name}") for name in _VECTORS}
    made |= {by: f"case when k.{name} is not null then {_MADE_BY} end" for name, by in _VECTORS.items()}
    return f"""
insert into turns as t ({", ".join(_COLUMNS)})
select {", ".join(made.get(name, f"k.{name}") for name in _COLUMNS)} from unnest({_LISTS}) as k ({", ".join(TAKEN)})
on conflict (conversation_id, turn_id, tenant, project) do update set at = least(t.at, excluded.at), {_SETS}
where {_ASKED} or {_REPLIED} or {_ASKED_ANEW} or {_REPLIED_ANEW}
    or excluded.at < t.at or (t.at is null and excluded.at is not null)
"""


JOIN: Final[Mapping[VectorType, str]] = {kind: _join(wire) for kind, wire in WIRES.items()}
KEYS: Final = "unnest($1::text[], $2::text[], $3::text[], $4::text[])"
SAME_TURN: Final = "({0}.tenant, {0}.project, {0}.conversation_id, {0}.turn_id)"
ON_TURN: Final = f"{SAME_TURN.format('t')} = {SAME_TURN.format('k')}"
VERDICT: Final = (
    *("tenant", "project", "conversation_id", "turn_id", "message_id", "detected_in_turn_id", "status", "confidence"),
    *("correction_type", "decided_by", "announced", "at", "evaluation", "epoch", "judged_by", "held_back"),
)
_VERDICT_TYPES: Final = {"confidence": "float8", "announced": "boolean"} | dict.fromkeys(
    ("at", "evaluation", "epoch"), "bigint"
)
_SAID: Final = ", ".join(f"${n}::{_VERDICT_TYPES.get(name, 'text')}[]" for n, name in enumerate(VERDICT, 1))
_OF_MESSAGE: Final = f"({', '.join(MessageKey._fields)})"
_STAMP: Final = '({0}.epoch, {0}.judged_by collate "C", {0}.evaluation)'
# Returns the previous verdicts of these messages, and the turn for which each was last announced.
UPSERT_VERDICTS: Final = f"""
with said as (
    select * from unnest({_SAID}) as k ({", ".join(VERDICT)})
), written as (
    insert into verdicts as v ({", ".join(VERDICT)}) select * from said
    on conflict {_OF_MESSAGE} do update
    set {", ".join(f"{name} = excluded.{name}" for name in VERDICT if name not in MessageKey._fields)}
    where {_STAMP.format("excluded")} >= {_STAMP.format("v")}
)
select k.tenant, k.project, k.conversation_id, k.message_id, v.turn_id, v.epoch, v.judged_by, v.evaluation, v.announced,
    m.emitted_turn_id, m.emitted_agent_id
from said k left join verdicts v using {_OF_MESSAGE} left join messages m using {_OF_MESSAGE}
"""
STUBS: Final = f"""
insert into turns (tenant, project, conversation_id, turn_id) select * from {KEYS} on conflict do nothing
"""
BY_MACHINE: Final = f"""
insert into turns as t (tenant, project, conversation_id, turn_id, machine_status, machine_confidence,
    machine_detected_in, machine_message_id)
select u.*, v.status, v.confidence, v.detected_in_turn_id, v.message_id
from {KEYS} u (tenant, project, conversation_id, turn_id) left join lateral (
    select * from verdicts v where {SAME_TURN.format("v")} = {SAME_TURN.format("u")}
    order by v.announced desc, v.at desc, v.message_id desc limit 1) v on true
on conflict (conversation_id, turn_id, tenant, project) do update set machine_status = excluded.machine_status,
    machine_confidence = excluded.machine_confidence, machine_detected_in = excluded.machine_detected_in,
    machine_message_id = excluded.machine_message_id
where (t.machine_status, t.machine_confidence, t.machine_detected_in, t.machine_message_id) is distinct from
    (excluded.machine_status, excluded.machine_confidence, excluded.machine_detected_in, excluded.machine_message_id)
"""
REACT: Final = """
insert into user_reactions as f (feedback_id, tenant, project, conversation_id, turn_id, user_id, explicit, reviewer,
    status, said, tags, correction, at, revision)
select j.feedback_id, j.tenant, j.project, j.conversation_id, j.turn_id, j.user_id, j.explicit, j.reviewer, j.status,
    j.said, array(select jsonb_array_elements_text(j.tags::jsonb)), j.correction, j.at, j.revision
from unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::boolean[], $8::boolean[],
    $9::text[], $10::text[], $11::text[], $12::text[], $13::bigint[], $14::bigint[])
    j (feedback_id, tenant, project, conversation_id, turn_id, user_id, explicit, reviewer, status, said, tags,
       correction, at, revision)
on conflict (feedback_id) do update set status = excluded.status, said = excluded.said, tags = excluded.tags,
    correction = excluded.correction, at = excluded.at, revision = excluded.revision
where excluded.revision > f.revision
returning feedback_id
"""
FORGET: Final = """
delete from user_reactions where feedback_id = any($1::uuid[])
returning tenant, project, conversation_id, turn_id
"""
WHOSE: Final = (
    "select tenant, project, conversation_id, turn_id from user_reactions where feedback_id = any($1::uuid[])"
)
# The newest of explicit reactions and live emoji per person, as in the reports, then the latest of these; otherwise the
# newest live review.
BY_PEOPLE: Final = f"""
update turns t set user_status = k.status, user_feedback_id = k.feedback_id
from (
    select u.*, f.status, f.feedback_id
    from {KEYS} u (tenant, project, conversation_id, turn_id) left join lateral (
        select * from (
            select distinct on (r.reviewer, r.user_id) r.* from user_reactions r
            where {SAME_TURN.format("r")} = {SAME_TURN.format("u")} and (r.explicit or r.status is not null)
            order by r.reviewer, r.user_id, r.at desc, r.feedback_id desc) newest
        where status is not null order by reviewer, at desc, feedback_id desc limit 1) f on true
) k
where {ON_TURN} and (t.user_status, t.user_feedback_id) is distinct from (k.status, k.feedback_id)
"""
