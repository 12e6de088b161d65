-- name: lock_server
lock table database_server in exclusive mode

-- name: is_same_server
select system_identifier = (select system_identifier from pg_control_system()) from database_server

-- name: adopt_rows(table)
update {table} set written_by = '0' where written_by >= pg_snapshot_xmax(pg_current_snapshot())

-- name: delete_server
delete from database_server

-- name: insert_server
insert into database_server select system_identifier from pg_control_system()

-- fragment: feedback_columns
feedback_id, revision, recorded_at, slot, tenant, project, conversation_id, turn_id, user_id, user_type, agent_id,
    agent_message_id, origin, feedback_type, source, reaction, value, confidence, text, tags, correction, emoji,
    correction_type, occurred_at, rn, track_id, bundle_id, agent_version, model, trace_id, intent, reviews, overruled_by,
    overruled_reaction, detector, decided_by

-- fragment: feedbacks_given
-- Labels have no control characters, and unnest would flatten arrays of arrays.
select feedback_id, revision, recorded_at, slot, tenant, project, conversation_id, turn_id, user_id, user_type, agent_id,
    agent_message_id, origin, feedback_type, source, reaction, value, confidence, text, string_to_array(tags, E'\x1f'),
    correction, emoji, correction_type, occurred_at, rn, track_id, bundle_id, agent_version, model, trace_id, intent,
    reviews, overruled_by, overruled_reaction, detector, decided_by
from unnest(:feedback_id::uuid[], :revision::bigint[], :recorded_at::bigint[], :slot::uuid[], :tenant::text[],
    :project::text[], :conversation_id::text[], :turn_id::text[], :user_id::text[], :user_type::text[], :agent_id::text[],
    :agent_message_id::text[], :origin::text[], :feedback_type::text[], :source::text[], :reaction::text[],
    :value::double precision[], :confidence::double precision[], :text::text[], :tags::text[], :correction::text[],
    :emoji::text[], :correction_type::text[], :occurred_at::bigint[], :rn::text[], :track_id::text[], :bundle_id::text[],
    :agent_version::text[], :model::text[], :trace_id::text[], :intent::text[], :reviews::text[], :overruled_by::uuid[],
    :overruled_reaction::text[], :detector::text[], :decided_by::text[]) as new ({feedback_columns})

-- fragment: feedback_replaced
revision = excluded.revision, recorded_at = excluded.recorded_at, slot = excluded.slot, tenant = excluded.tenant,
    project = excluded.project, conversation_id = excluded.conversation_id, turn_id = excluded.turn_id,
    user_id = excluded.user_id, user_type = excluded.user_type, agent_id = excluded.agent_id,
    agent_message_id = excluded.agent_message_id, origin = excluded.origin, feedback_type = excluded.feedback_type,
    source = excluded.source, reaction = excluded.reaction, value = excluded.value, confidence = excluded.confidence,
    text = excluded.text, tags = excluded.tags, correction = excluded.correction, emoji = excluded.emoji,
    correction_type = excluded.correction_type, occurred_at = excluded.occurred_at, rn = excluded.rn,
    track_id = excluded.track_id, bundle_id = excluded.bundle_id, agent_version = excluded.agent_version,
    model = excluded.model, trace_id = excluded.trace_id, intent = excluded.intent, reviews = excluded.reviews,
    overruled_by = excluded.overruled_by, overruled_reaction = excluded.overruled_reaction, detector = excluded.detector,
    decided_by = excluded.decided_by, written_by = pg_current_xact_id()

-- name: lock_feedbacks(table)
select {feedback_columns} from {table} where feedback_id = any(:feedback_ids::uuid[]) order by feedback_id for update

-- name: upsert_feedbacks(table)
insert into {table} as held ({feedback_columns})
{feedbacks_given}
where not exists (select from forgotten f where f.feedback_id = new.feedback_id and f.revision >= new.revision)
on conflict (feedback_id) do update
set {feedback_replaced}
where held.revision < excluded.revision

-- fragment: is_later
excluded.version > held.version

-- fragment: is_earlier
(excluded.occurred_at, excluded.sequence) < (held.occurred_at, held.sequence)

-- name: upsert_messages
insert into messages as held (tenant, project, conversation_id, message_id, turn_id, sender_type, sender_id, user_type,
    agent_id, content, intent, strategy, track_id, bundle_id, agent_version, model, trace_id, reply_to, thread, version,
    occurred_at, sequence)
select * from unnest(:tenant::text[], :project::text[], :conversation_id::text[], :message_id::text[], :turn_id::text[],
    :sender_type::text[], :sender_id::text[], :user_type::text[], :agent_id::text[], :content::text[], :intent::text[],
    :strategy::text[], :track_id::text[], :bundle_id::text[], :agent_version::text[], :model::text[], :trace_id::text[],
    :reply_to::text[], :thread::text[], :version::bytea[], :occurred_at::bigint[], :sequence::bigint[])
on conflict (tenant, project, conversation_id, message_id) do update
set turn_id = case when {is_later} then excluded.turn_id else held.turn_id end,
    sender_type = case when {is_later} then excluded.sender_type else held.sender_type end,
    sender_id = case when {is_later} then excluded.sender_id else held.sender_id end,
    user_type = case when {is_later} then excluded.user_type else held.user_type end,
    agent_id = case when {is_later} then excluded.agent_id else held.agent_id end,
    content = case when {is_later} then excluded.content else held.content end,
    intent = case when {is_later} then excluded.intent else held.intent end,
    strategy = case when {is_later} then excluded.strategy else held.strategy end,
    track_id = case when {is_later} then excluded.track_id else held.track_id end,
    bundle_id = case when {is_later} then excluded.bundle_id else held.bundle_id end,
    agent_version = case when {is_later} then excluded.agent_version else held.agent_version end,
    model = case when {is_later} then excluded.model else held.model end,
    trace_id = case when {is_later} then excluded.trace_id else held.trace_id end,
    reply_to = case when {is_later} then excluded.reply_to else held.reply_to end,
    thread = case when {is_later} then excluded.thread else held.thread end,
    version = case when {is_later} then excluded.version else held.version end,
    occurred_at = case when {is_earlier} then excluded.occurred_at else held.occurred_at end,
    sequence = case when {is_earlier} then excluded.sequence else held.sequence end
where {is_later} or {is_earlier}
returning tenant, project, conversation_id, message_id

-- name: forget_feedbacks
with gone as (
    select feedback_id, max(revision) as revision
    from unnest(:feedback_id::uuid[], :revision::bigint[]) as g (feedback_id, revision)
    group by feedback_id
), noted as (
    insert into forgotten as f (feedback_id, revision) select * from gone order by feedback_id
    on conflict (feedback_id) do update
    set revision = greatest(f.revision, excluded.revision), written_by = pg_current_xact_id()
), replied as (
    delete from replies held using gone where held.feedback_id = gone.feedback_id and held.revision <= gone.revision
)
delete from feedbacks held using gone where held.feedback_id = gone.feedback_id and held.revision <= gone.revision

-- name: insert_sessions
insert into sessions (tenant, id, recorded_at, label, turns)
select * from unnest(:tenant::text[], :id::uuid[], :recorded_at::bigint[], :label::text[], :turns::integer[])
on conflict do nothing returning id

-- name: has_feedback
select exists (select from feedbacks) or exists (select from replies)
