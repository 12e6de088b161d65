-- What messages made the machine say, and how people judged its verdicts, are counted by hour and day as well. All hours
-- are counted anew. A process of before can count none: it does not fill the added column, and its hours stay stale.
insert into stale_hours (tenant, project, hour)
select distinct tenant, project, start from rollups where grain = 'total';
delete from rollups;
alter table rollups add column confidence double precision not null;
comment on column rollups.grain is 'hour, day: by agent, version and model; total: hours of all agents; reason hour, reason day: by reason as well; judgement hour, judgement day: the machine''s verdicts by confidence';
comment on column rollups.kind is 'Of a reason: tag, rule or correction_type. Of judgements: verdict, where the machine''s verdicts are counted; or the machine''s verdict, where those are counted that people gave on the same turns';
comment on column rollups.reason is 'The reason; of judgements the twentieth of confidence, 0 to 19';
comment on column rollups.confidence is 'Sum of the confidences of what is counted; of judgements the machine''s, once for each pair';

-- Of a turn, what people said and what the machine did: calibration asks for the former, the trigger for the latter.
create index feedbacks_turn on feedbacks (conversation_id, turn_id, origin) where reaction is not null;
drop index feedbacks_judged;

-- Whoever wrote at the same time may not have seen what is noted: an hour is counted once they have ended.
alter table stale_hours add column written_by xid8 not null default pg_current_xact_id();

create or replace function mark_stale_hours() returns trigger language plpgsql as $$
begin
    if not exists (select from changed) then  -- an insert that becomes updates calls both kinds of trigger
        return null;
    end if;
    -- What else stands in a changed slot may begin to count, or cease to. What the machine said of a turn is judged
    -- otherwise where what people say of it changes. That is looked up by the turn alone, for a plan stays: made before
    -- there are statistics, it may go by tenant and project instead, and read all of their feedback for each turn.
    insert into stale_hours (tenant, project, hour)
    select distinct tenant, project, occurred_at / 3600000000 * 3600000000 from (
        select tenant, project, occurred_at from changed
        union all
        select f.tenant, f.project, f.occurred_at
        from feedbacks f
        where f.slot in (select slot from changed where origin = 'user' and source <> 'review')
          and (f.feedback_type = 'explicit' or f.reaction is not null)
        union all
        select f.tenant, f.project, f.occurred_at
        from (select distinct tenant, project, conversation_id, turn_id from changed where origin = 'user') turn
        cross join lateral (
            select f.tenant, f.project, f.occurred_at from feedbacks f
            where f.conversation_id = turn.conversation_id and f.turn_id = turn.turn_id and f.origin = 'machine'
              and f.reaction is not null
            offset 0
        ) f
        where f.tenant = turn.tenant and f.project = turn.project
    ) touched;
    return null;
end
$$;
