-- compatible_from: 0001
-- A review counts in place of the machine's verdicts on its turn.
alter table feedbacks add column overruled_by uuid, add column overruled_reaction text;
comment on column feedbacks.overruled_by is 'Of an overruled machine verdict: the review that counts in its place';
comment on column feedbacks.overruled_reaction is 'Of an overruled machine verdict: the machine''s reaction; it counts for nothing';

update feedbacks set origin = 'reviewer' where source = 'review';

-- Of a turn, what people and reviewers said and what the machine did, overruled or not.
create index feedbacks_judged on feedbacks (conversation_id, turn_id, origin)
    where reaction is not null or overruled_reaction is not null;

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
comment on view effective is
    'The reactions that count: live, and of a person''s on a turn, as of the reviews of a turn, the newest (a person''s explicit null is newest as well)';

create view effective_or_overruled as
select feedback_id, revision, recorded_at, slot, tenant, project, conversation_id, turn_id, user_id, user_type, agent_id,
    agent_message_id, origin, feedback_type, source, coalesce(reaction, overruled_reaction) as reaction, value,
    confidence, text, tags, correction, emoji, correction_type, occurred_at, rn, track_id, bundle_id, agent_version,
    model, trace_id, intent, reviews, overruled_by, overruled_reaction
from (select * from effective union all select * from feedbacks where overruled_reaction is not null) f;
comment on view effective_or_overruled is 'What counts, and the machine''s verdicts that reviews have overruled, with the machine''s reaction';

create or replace function mark_stale_hours() returns trigger language plpgsql as $$
begin
    if not exists (select from changed) then  -- an insert that becomes updates calls both kinds of trigger
        return null;
    end if;
    -- What else stands in a changed slot may begin to count, or cease to. What the machine said of a turn is judged
    -- otherwise where what people say of it changes, and of a turn's reviews another one may count. Both are looked up
    -- by the turn alone, for a plan stays: made before there are statistics, it may go by tenant and project instead,
    -- and read all of their feedback for each turn.
    insert into stale_hours (tenant, project, hour)
    select distinct tenant, project, occurred_at / 3600000000 * 3600000000 from (
        select tenant, project, occurred_at from changed
        union all
        select f.tenant, f.project, f.occurred_at
        from feedbacks f
        where f.slot in (select slot from changed where origin = 'user')
          and (f.feedback_type = 'explicit' or f.reaction is not null)
        union all
        select f.tenant, f.project, f.occurred_at
        from (
            select distinct c.tenant, c.project, c.conversation_id, c.turn_id, o.origin
            from changed c cross join unnest(array['machine', 'reviewer']) as o (origin)
            where c.origin in ('user', 'reviewer')
        ) turn
        cross join lateral (
            select f.tenant, f.project, f.occurred_at from feedbacks f
            where f.conversation_id = turn.conversation_id and f.turn_id = turn.turn_id and f.origin = turn.origin
              and (f.reaction is not null or f.overruled_reaction is not null)
            offset 0
        ) f
        where f.tenant = turn.tenant and f.project = turn.project
    ) touched;
    return null;
end
$$;

insert into stale_hours (tenant, project, hour)
select distinct tenant, project, occurred_at / 3600000000 * 3600000000 from feedbacks where origin = 'reviewer';
