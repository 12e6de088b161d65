-- fragment: journal_columns
event_id, at, tenant, project, cause, conversation_id, message_id, feedback_id, outcome, reason, detail

-- name: note_outcomes
-- The first outcome of a record stays if it comes again after a lost commit.
insert into journal as j ({journal_columns})
select * from unnest(:event_id::text[], :at::text[], :tenant::text[], :project::text[], :cause::text[],
    :conversation_id::text[], :message_id::text[], :feedback_id::uuid[], :outcome::text[], :reason::text[],
    :detail::text[])
on conflict (event_id, at, tenant, project) do update
set outcome = excluded.outcome, reason = excluded.reason, detail = excluded.detail, feedback_id = excluded.feedback_id,
    noted_at = now()
where excluded.outcome <> 'unchanged'

-- name: settle_outcomes
update journal j set outcome = s.outcome, reason = s.reason, noted_at = now()
from unnest(:event_id::text[], :at::text[], :tenant::text[], :project::text[], :outcome::text[], :reason::text[])
    as s (event_id, at, tenant, project, outcome, reason)
where j.event_id = s.event_id and j.at = s.at and j.tenant = s.tenant and j.project = s.project

-- name: find_outcomes
select {journal_columns}, (extract(epoch from noted_at) * 1000000)::bigint as noted_at from (
    select * from journal where event_id = any(:events::text[]) and tenant = :tenant and project = :project
    union
    select * from journal where message_id = any(:messages::text[]) and tenant = :tenant and project = :project
    union
    select * from journal where cause = any(:causes::text[]) and tenant = :tenant and project = :project
) j order by noted_at desc, at limit :limit
