-- name: lock_rebuild
select pg_try_advisory_lock(hashtext('agent-feedback rebuild'))

-- name: drop_rebuilt
drop table if exists feedbacks_rebuilt

-- name: create_rebuilt
create unlogged table feedbacks_rebuilt (like feedbacks including defaults, primary key (feedback_id))

-- name: current_snapshot
select pg_current_snapshot()::text

-- name: add_rebuilt
insert into feedbacks_rebuilt ({feedback_columns})
select {feedback_given(new)} from unnest({feedback_arrays}) as new ({feedback_columns})

-- name: block_erasures
-- Concurrent erasures wait for the switch and then find the new rows; earlier erasures are applied to the new rows.
lock table forgotten, erasures in share mode

-- name: delete_erased_rebuilt
delete from feedbacks_rebuilt r
where exists (select from forgotten f where f.feedback_id = r.feedback_id and f.revision >= r.revision)
   or exists (select from erasures e where e.tenant = r.tenant and e.user_id = r.user_id
              and (r.value is not null or r.overruled_reaction is not null) and r.occurred_at <= e.erased_at + {erasure_margin})

-- fragment: is_old
pg_visible_in_snapshot(held.written_by, :begun::text::pg_snapshot)

-- name: remove_missing
delete from feedbacks held
where {is_old} and not exists (select from feedbacks_rebuilt r where r.feedback_id = held.feedback_id)

-- name: replace_changed
insert into feedbacks as held ({feedback_columns})
select {judgement_of(r)}, {copies} from feedbacks_rebuilt r cross join {with_answer(r)} order by r.feedback_id
on conflict (feedback_id) do update set {feedback_replaced}
where held.revision < excluded.revision or ({is_old} and
    ({feedback_of(held)}) is distinct from ({feedback_of(excluded)}))

-- name: mark_all_hours
insert into stale_hours (tenant, project, hour)
select distinct tenant, project, hour from (
    select tenant, project, occurred_at / {hour} * {hour} as hour from feedbacks
    union all select tenant, project, start from rollups where grain = 'total'
) counted
