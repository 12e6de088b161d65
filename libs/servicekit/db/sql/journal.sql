-- name: append_outcomes
insert into journal (event_id, at, tenant, project, cause, conversation_id, message_id, feedback_id, outcome, reason,
    detail)
select * from unnest(:event_id::text[], :at::text[], :tenant::text[], :project::text[], :cause::text[],
    :conversation_id::text[], :message_id::text[], :feedback_id::uuid[], :outcome::text[], :reason::text[],
    :detail::text[])

-- name: settle_outcomes
update journal j set outcome = s.outcome, reason = s.reason, noted_at = now()
from unnest(:event_id::text[], :at::text[], :tenant::text[], :project::text[], :outcome::text[], :reason::text[])
    as s (event_id, at, tenant, project, outcome, reason)
where j.event_id = s.event_id and j.at = s.at and j.tenant = s.tenant and j.project = s.project

-- name: find_outcomes
-- A record that is read again after a lost commit gets another row. If that row says `unchanged`, an earlier row has
-- the result.
select event_id, at, coalesce(cause, at) as cause, conversation_id, message_id, feedback_id, outcome, reason, detail,
    (extract(epoch from noted_at) * 1000000)::bigint as noted_at
from (
    select distinct on (event_id, at) * from (
        select * from journal where event_id = any(:events::text[]) and tenant = :tenant and project = :project
        union all
        select * from journal where message_id = any(:messages::text[]) and tenant = :tenant and project = :project
        union all
        select * from journal where cause = any(:causes::text[]) and tenant = :tenant and project = :project
    ) found
    order by event_id, at, outcome = 'unchanged', noted_at desc
) j order by noted_at desc, at limit :limit
