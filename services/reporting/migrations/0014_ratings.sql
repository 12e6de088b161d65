-- compatible_from: 0001
-- Ratings: of the answer, as verdicts in `feedbacks`, and on a project's own scales, as other feedback in `replies`.
alter table feedbacks add column rating smallint, add column scale text,
    add column worst_rating smallint, add column best_rating smallint;
alter table replies add column rating smallint, add column scale text,
    add column worst_rating smallint, add column best_rating smallint;
comment on table replies is 'Feedback that is not a verdict, at its highest revision: replies to answers, and ratings on own scales; a null value is retracted. Columns as in feedbacks';
comment on column replies.scale is 'Name of the project''s own scale, for a rating; null for a reply';
comment on column feedbacks.rating is 'Rating of the answer, from worst_rating to best_rating; null for other feedback';

create index feedbacks_rated on feedbacks (tenant, project, occurred_at) where rating is not null;
create index replies_rated on replies (tenant, project, occurred_at) where rating is not null;

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
    model, trace_id, intent, reviews, overruled_by, overruled_reaction, detector, decided_by,
    rating, scale, worst_rating, best_rating
from (select * from effective union all select * from feedbacks where overruled_reaction is not null) f;

create or replace view live_replies as select * from replies where value is not null;
comment on view live_replies is 'Feedback that is shown and is not a verdict';
