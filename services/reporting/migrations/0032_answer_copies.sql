-- compatible_from: 0001
-- Copies of the answer's strategy, thread and attributes: views that have them, and triggers that keep them.
-- Lock outer views before inner ones, as readers do: a reader that holds `effective` may wait for `effective_or_suspect`.
alter view effective_or_overruled reset (security_barrier);
alter view effective reset (security_barrier);
alter view suspected reset (security_barrier);

create or replace view effective_or_suspect as
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
        where newer.slot = f.slot and newer.tenant = f.tenant
          and (newer.feedback_type = 'explicit' or newer.reaction is not null)
          and (newer.occurred_at, newer.feedback_id) > (f.occurred_at, f.feedback_id)));
create or replace view effective as select * from effective_or_suspect where suspect is null;
create or replace view suspected as select * from effective_or_suspect where suspect is not null;
create or replace view effective_or_overruled as
select feedback_id, revision, recorded_at, slot, tenant, project, conversation_id, turn_id, user_id, user_type, agent_id,
    agent_message_id, origin, feedback_type, source, coalesce(reaction, overruled_reaction) as reaction, value,
    confidence, text, tags, correction, emoji, correction_type, occurred_at, rn, track_id, bundle_id, agent_version,
    model, trace_id, intent, reviews, overruled_by, overruled_reaction, detector, decided_by,
    rating, scale, worst_rating, best_rating, answer_strategy, answer_thread, answer_attributes
from (select * from effective union all select * from feedbacks where overruled_reaction is not null) f;
create or replace view live_replies as select * from replies where value is not null;

-- Copying changes no verdict, so no trigger on updates of feedback has anything to note.
create or replace trigger stale_by_update_of after update on feedbacks referencing old table as changed
    for each statement when (current_setting('agent_feedback.copying', true) is distinct from 'on')
    execute function mark_stale_hours();
create or replace trigger stale_by_update_to after update on feedbacks referencing new table as changed
    for each statement when (current_setting('agent_feedback.copying', true) is distinct from 'on')
    execute function mark_stale_hours();
create or replace trigger stale_turn_by_update_of after update on feedbacks referencing old table as changed
    for each statement when (current_setting('agent_feedback.copying', true) is distinct from 'on')
    execute function mark_stale_turns();
create or replace trigger stale_turn_by_update_to after update on feedbacks referencing new table as changed
    for each statement when (current_setting('agent_feedback.copying', true) is distinct from 'on')
    execute function mark_stale_turns();
create or replace trigger rejection_by_update_of after update on feedbacks referencing old table as changed
    for each statement when (current_setting('agent_feedback.copying', true) is distinct from 'on')
    execute function mark_rejections();
create or replace trigger rejection_by_update_to after update on feedbacks referencing new table as changed
    for each statement when (current_setting('agent_feedback.copying', true) is distinct from 'on')
    execute function mark_rejections();
create or replace trigger suspect_by_update after update on feedbacks referencing old table as before new table as after
    for each statement when (current_setting('agent_feedback.copying', true) is distinct from 'on')
    execute function mark_suspect_updates();

-- The answer is chosen as in answer_of_row (sql/rollups.sql).
create function copy_answer() returns trigger language plpgsql as $$
begin
    select coalesce(m.strategy, ''), m.thread, coalesce(m.attributes, '{}')
    into new.answer_strategy, new.answer_thread, new.answer_attributes
    from messages m
    where m.conversation_id = new.conversation_id and m.turn_id = new.turn_id and m.sender_type = 'agent'
      and m.tenant = new.tenant and m.project = new.project
    order by (m.message_id = new.agent_message_id) is true desc, (m.agent_id = new.agent_id) is true desc,
             m.occurred_at desc, m.sequence desc, m.message_id
    limit 1;
    return new;
end
$$;
create trigger copy_answer_by_insert before insert on feedbacks for each row
    when (new.reaction is not null or new.overruled_reaction is not null) execute function copy_answer();
create trigger copy_answer_by_update before update on feedbacks for each row
    when (current_setting('agent_feedback.copying', true) is distinct from 'on'
          and (new.reaction is not null or new.overruled_reaction is not null)) execute function copy_answer();
create trigger copy_answer_by_insert before insert on replies for each row
    when (new.value is not null) execute function copy_answer();
create trigger copy_answer_by_update before update on replies for each row
    when (current_setting('agent_feedback.copying', true) is distinct from 'on' and new.value is not null)
    execute function copy_answer();

-- Marks the hours of the feedback and of the replies on changed answers, and discards the copies. The count
-- of an hour copies again: it waits until concurrent writers, which do not see each other, have ended.
create or replace function mark_stale_dimensions() returns trigger language plpgsql as $$
begin
    if not exists (select from changed where sender_type = 'agent') then
        return null;
    end if;
    perform set_config('agent_feedback.copying', 'on', true);
    -- The look-ups name the turn alone, as in mark_stale_hours.
    with turns as materialized (
        select distinct tenant, project, conversation_id, turn_id from changed
        where sender_type = 'agent' and turn_id is not null
    ), judged as materialized (
        select f.*
        from turns cross join lateral (
            select f.feedback_id, f.tenant, f.project, f.occurred_at, f.answer_attributes from feedbacks f
            where f.conversation_id = turns.conversation_id and f.turn_id = turns.turn_id
              and (f.reaction is not null or f.overruled_reaction is not null)
            offset 0
        ) f
        where f.tenant = turns.tenant and f.project = turns.project
    ), replied as materialized (
        select r.*
        from turns cross join lateral (
            select r.feedback_id, r.tenant, r.project, r.occurred_at, r.answer_attributes from replies r
            where r.conversation_id = turns.conversation_id and r.turn_id = turns.turn_id
            offset 0
        ) r
        where r.tenant = turns.tenant and r.project = turns.project
    ), held_feedbacks as materialized (
        -- All writers lock feedbacks before replies, each in the order of their ids.
        select feedback_id from feedbacks
        where feedback_id in (select feedback_id from judged where answer_attributes is not null)
        order by feedback_id for update
    ), held_replies as materialized (
        select feedback_id from replies
        where feedback_id in (select feedback_id from replied where answer_attributes is not null)
          and (select count(*) from held_feedbacks) >= 0 -- reads them, and so locks them, first
        order by feedback_id for update
    ), of_feedbacks as (
        update feedbacks f set answer_strategy = null, answer_thread = null, answer_attributes = null
        from held_feedbacks h where f.feedback_id = h.feedback_id
    ), of_replies as (
        update replies r set answer_strategy = null, answer_thread = null, answer_attributes = null
        from held_replies h where r.feedback_id = h.feedback_id
    )
    insert into stale_hours (tenant, project, hour)
    select tenant, project, occurred_at / 3600000000 * 3600000000 from judged
    union
    select tenant, project, occurred_at / 3600000000 * 3600000000 from replied;
    perform set_config('agent_feedback.copying', 'off', true);
    return null;
end
$$;

-- A reply counts in no hour: its mark only lets the hour's copies be compared with the answers.
create function mark_hours_of_replies() returns trigger language plpgsql as $$
begin
    insert into stale_hours (tenant, project, hour)
    select distinct tenant, project, occurred_at / 3600000000 * 3600000000 from changed where value is not null;
    return null;
end
$$;
create trigger stale_by_insert after insert on replies referencing new table as changed
    for each statement execute function mark_hours_of_replies();
create trigger stale_by_update after update on replies referencing new table as changed
    for each statement when (current_setting('agent_feedback.copying', true) is distinct from 'on')
    execute function mark_hours_of_replies();
