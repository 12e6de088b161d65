-- name: lock_rebuild
select pg_try_advisory_lock(hashtext('agent-feedback rebuild'))

-- name: drop_rebuilt(table)
drop table if exists {table}_rebuilt

-- name: create_rebuilt(table)
create unlogged table {table}_rebuilt (like {table} including defaults, primary key (feedback_id))

-- name: current_snapshot
select pg_current_snapshot()::text

-- name: add_rebuilt(table)
insert into {table}_rebuilt ({feedback_columns}) {feedbacks_given}

-- name: block_erasures
-- Concurrent erasures wait for the switch and then find the new rows; earlier erasures are applied to the new rows.
lock table forgotten, erasures in share mode

-- name: delete_erased_rebuilt(table, is_live)
delete from {table}_rebuilt r
where exists (select from forgotten f where f.feedback_id = r.feedback_id and f.revision >= r.revision)
   or exists (select from erasures e where e.tenant = r.tenant and e.user_id = r.user_id
              and r.{is_live} and r.occurred_at <= e.erased_at + {erasure_margin})

-- fragment: is_old
pg_visible_in_snapshot(held.written_by, :begun::text::pg_snapshot)

-- name: remove_missing(table)
delete from {table} held
where {is_old} and not exists (select from {table}_rebuilt r where r.feedback_id = held.feedback_id)

-- name: replace_changed(table)
insert into {table} as held ({feedback_columns})
select {feedback_columns} from {table}_rebuilt order by feedback_id
on conflict (feedback_id) do update set {feedback_replaced}
where held.revision < excluded.revision or ({is_old} and
    ({feedback_of(held)}) is distinct from ({feedback_of(excluded)}))

-- name: mark_all_hours
insert into stale_hours (tenant, project, hour)
select distinct tenant, project, hour from (
    select tenant, project, occurred_at / {hour} * {hour} as hour from feedbacks
    union all select tenant, project, occurred_at / {hour} * {hour} from replies where value is not null
    union all select tenant, project, start from rollups where grain = 'total'
) counted
