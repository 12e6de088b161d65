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

-- fragment: feedbacks_given
select {feedback_given(new)} from unnest({feedback_arrays}) as new ({feedback_columns})

-- fragment: feedback_replaced
{feedback_set}, written_by = pg_current_xact_id()

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
insert into messages as held ({key_columns}, {said_columns}, {position_columns})
select * from unnest({key_arrays}, {said_arrays}, {position_arrays})
on conflict ({key_columns}) do update set
    {said_set_if(is_later, held)},
    {position_set_if(is_earlier, held)}
where {is_later} or {is_earlier}
returning {key_columns}

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
