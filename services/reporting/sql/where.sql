-- name: find_states
-- Subselects by the turn: see `judgements_of_row` for the pairs that calibration counts.
select f.feedback_id, f.revision, f.is_reply, f.occurred_at / {hour} * {hour} as hour, s.state,
    f.tags <> '{}' or f.correction_type is not null as has_reasons,
    s.state = 'overruled' or s.state = 'counted' and not f.is_reply and (f.origin = 'machine' or exists (
        select from effective_or_overruled m
        where m.conversation_id = f.conversation_id and m.turn_id = f.turn_id and m.origin = 'machine'
          and m.tenant = :tenant and m.project = :project)) as calibrates,
    exists (select from stale_hours h
        where h.tenant = :tenant and h.project = :project and h.hour = f.occurred_at / {hour} * {hour}) as stale
from (select *, false as is_reply from feedbacks union all select *, true from replies) f
cross join lateral (select case
    when f.is_reply then case when f.value is null then 'cleared' else 'listed' end
    when exists (select from effective e where e.feedback_id = f.feedback_id) then 'counted'
    when f.overruled_reaction is not null then 'overruled'
    when f.reaction is null then 'cleared'
    else 'superseded' end as state offset 0) s -- evaluated once
where f.feedback_id = any(:ids::uuid[]) and f.tenant = :tenant and f.project = :project
order by f.feedback_id
