-- name: lock_suspects
select pg_try_advisory_lock(hashtext('agent-feedback suspects'))

-- name: unlock_suspects
select pg_advisory_unlock(hashtext('agent-feedback suspects'))

-- name: look_at_suspects_again
insert into suspect_changes (tenant, project, user_id, minute)
select distinct tenant, project, user_id, occurred_at / {minute} from feedbacks where suspect is not null

-- name: changed_givers
select id, tenant, project, user_id, minute from suspect_changes order by id limit :limit

-- name: delete_changed_givers
delete from suspect_changes where id = any(:ids::bigint[])

-- fragment: may_be_suspect(row)
{row}.reaction is not null and {row}.origin = 'user' and {row}.user_type <> 'agent'

-- fragment: verdicts_of(row, start, end)
-- Use the index of the person alone. Without statistics, a plan by tenant and project would read all of the project's
-- feedback.
(
    select * from (
        select * from feedbacks f
        where f.user_id = {row}.user_id and {may_be_suspect(f)} and f.occurred_at >= {start} * {minute}
          and f.occurred_at < {end} * {minute}
        offset 0
    ) f where f.tenant = {row}.tenant and f.project = {row}.project
) f

-- name: minutes_worth_a_look
-- Return minutes near a marked verdict, or with enough verdicts for a burst. The adjacent minutes count as well,
-- because a burst may begin in the previous minute.
select g.tenant, g.project, g.user_id, g.minute
from unnest(:tenant::text[], :project::text[], :user_id::text[], :minute::bigint[]) as g (tenant, project, user_id, minute)
cross join lateral (select g.minute - :around::int as first, g.minute + 1 + :around::int as last, g.minute - 1 as before,
    g.minute + 2 as after) near
where :least::int > 0 and (
    select count(*) from (select from {verdicts_of(g, near.before, near.after)} limit :least::int) f) >= :least::int
  or exists (select from {verdicts_of(g, near.first, near.last)} where f.suspect is not null)

-- fragment: given
(select :tenant::text as tenant, :project::text as project, :user_id::text as user_id,
    :start_minute::bigint as first, :end_minute::bigint + 1 as last,
    :start_minute::bigint - :around::int as before, :end_minute::bigint + 1 + :around::int as after) g

-- name: verdict_windows
select f.occurred_at / {suspect_window} as number, count(distinct (f.conversation_id, f.turn_id))::int as turns,
    count(distinct f.conversation_id)::int as conversations, count(distinct f.occurred_at)::int as instants,
    min(digest) as first, max(digest) as last
from (
    select f.occurred_at, f.conversation_id, f.turn_id,
        md5(row(f.reaction, f.emoji, f.rating, f.text, f.tags, f.correction)::text) collate "C" as digest
    from {given} cross join lateral {verdicts_of(g, g.before, g.after)}
) f
group by 1

-- name: mark_suspects
-- In each minute, reactions after the first :limit are suspect. A reviewer's decision overrides the rules.
with judged as (
    select f.feedback_id, f.suspect, case
        when d.feedback_id is not null then case when d.suspect then 'reviewer' end
        when f.occurred_at / {suspect_window} = any(:windows::bigint[]) then 'burst'
        when f.feedback_type = 'reaction' and row_number() over (
            partition by f.occurred_at / {minute}, f.feedback_type order by f.occurred_at, f.feedback_id) > :limit::int then 'rate'
        end as reason
    from {given} cross join lateral {verdicts_of(g, g.first, g.last)}
    left join suspect_decisions d on d.feedback_id = f.feedback_id
), changed as materialized (
    select feedback_id, reason from judged where suspect is distinct from reason
)
update feedbacks f set suspect = c.reason, written_by = pg_current_xact_id()
from changed c where f.feedback_id = c.feedback_id

-- name: decide_suspects
with chosen as (
    select f.user_id from feedbacks f
    where f.feedback_id = :feedback_id::uuid and f.tenant = :tenant and f.project = :project and {may_be_suspect(f)}
)
insert into suspect_decisions (feedback_id, tenant, project, suspect, decided_by, decided_at)
select f.feedback_id, f.tenant, f.project, :suspect::boolean, :decided_by, :now
from feedbacks f, chosen c
where f.tenant = :tenant and f.project = :project and f.user_id = c.user_id and {may_be_suspect(f)}
  and (f.feedback_id = :feedback_id::uuid or :whole_person::boolean and f.suspect is not null)
order by f.feedback_id
on conflict (feedback_id) do update
set suspect = excluded.suspect, decided_by = excluded.decided_by, decided_at = excluded.decided_at
returning feedback_id

-- name: apply_decisions
update feedbacks f set suspect = :reason::text, written_by = pg_current_xact_id()
where f.feedback_id = any(:ids::uuid[]) and f.tenant = :tenant and f.project = :project
  and f.suspect is distinct from :reason::text

-- name: delete_suspect_changes_of_person
delete from suspect_changes where id in (
    select id from suspect_changes
    where tenant = :tenant and user_id = :user_id and minute * {minute} <= :until limit :limit)

-- name: count_suspects(where)
select count(*) from suspected e where {where}
