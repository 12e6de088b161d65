-- compatible_from: 0001
-- Which detector judged, and which part of it.
alter table feedbacks add column detector text, add column decided_by text;
comment on column feedbacks.detector is 'Of a machine''s verdict: the detector''s version; null if release 0.1.0 judged';
comment on column feedbacks.decided_by is 'Of a machine''s verdict: rules, learned or llm';

-- Verdicts of a window by detector, without reading rows.
create index feedbacks_of_detector on feedbacks (tenant, project, occurred_at, detector, decided_by)
    where origin = 'machine' and (reaction is not null or overruled_reaction is not null);

create or replace view effective as
select f.*
from feedbacks f
where f.reaction is not null
  and (f.origin = 'machine'
    or f.origin = 'reviewer' and not exists (
        select from feedbacks newer
        where newer.conversation_id = f.conversation_id and newer.turn_id = f.turn_id and newer.origin = 'reviewer'
          and newer.tenant = f.tenant and newer.project = f.project and newer.reaction is not null
          and (newer.occurred_at, newer.feedback_id) > (f.occurred_at, f.feedback_id))
    or f.origin = 'user' and not exists (
        select from feedbacks newer
        where newer.slot = f.slot
          and (newer.feedback_type = 'explicit' or newer.reaction is not null)
          and (newer.occurred_at, newer.feedback_id) > (f.occurred_at, f.feedback_id)));

create or replace view effective_or_overruled as
select feedback_id, revision, recorded_at, slot, tenant, project, conversation_id, turn_id, user_id, user_type, agent_id,
    agent_message_id, origin, feedback_type, source, coalesce(reaction, overruled_reaction) as reaction, value,
    confidence, text, tags, correction, emoji, correction_type, occurred_at, rn, track_id, bundle_id, agent_version,
    model, trace_id, intent, reviews, overruled_by, overruled_reaction, detector, decided_by
from (select * from effective union all select * from feedbacks where overruled_reaction is not null) f;
