-- name: find_states
with records as (
    select *, false as is_reply from feedbacks
    union all
    select *, true from replies
), found as materialized (
    select *, occurred_at / {hour} * {hour} as hour, case
        when is_reply then case when value is null then 'cleared' else 'listed' end
        when exists (select from effective e where e.feedback_id = records.feedback_id and e.tenant = :tenant) then 'counted'
        when overruled_reaction is not null then 'overruled'
        when reaction is null then 'cleared'
        else 'superseded' end as state
    from records
    where feedback_id = any(:ids::uuid[]) and tenant = :tenant and project = :project
)
select feedback_id, revision, is_reply, hour, state, tags <> '{}' or correction_type is not null as has_reasons,
    -- Calibration counts pairs of a person's reaction and the machine's verdict on a turn (`judgements_of_row`).
    state = 'overruled' or state = 'counted' and not is_reply and (origin = 'machine' or exists (
        select from effective_or_overruled m
        where m.conversation_id = found.conversation_id and m.turn_id = found.turn_id and m.origin = 'machine'
          and m.tenant = :tenant and m.project = :project)) as calibrates,
    exists (select from stale_hours h
        where h.tenant = :tenant and h.project = :project and h.hour = found.hour) as stale
from found
order by feedback_id
