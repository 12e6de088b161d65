-- compatible_from: 0001
-- Dimensions of an answer by which satisfaction is compared: roll-ups by bundle, track, intent, strategy, role of the
-- person, and the answer's attributes (REPORTING_ATTRIBUTES).
alter table messages add column attributes jsonb;
comment on column messages.attributes is
    'Of an answer: the attributes by which answers are compared, as names and texts; null without any';
comment on column rollups.grain is
    'hour, day: by agent, version and model; total: hours of all agents; reason hour, reason day: by reason as well; judgement hour, judgement day: the machine''s verdicts by confidence; dimension hour, dimension day: by dimension and value';
comment on column rollups.kind is
    'Of a reason: tag, rule or correction_type. Of judgements: verdict, for counts of the machine''s verdicts; or the machine''s verdict, for counts of people''s reactions on the same turns. Of dimensions: the dimension';
comment on column rollups.reason is
    'The reason; of judgements the twentieth of confidence, 0 to 19; of dimensions the value';
create index rollups_dimension on rollups (tenant, project, grain, kind, start)
    where grain in ('dimension hour', 'dimension day');

-- A changed answer may change the dimensions of the feedback on its turn. The look-up names the turn alone, as in
-- mark_stale_hours.
create function mark_stale_dimensions() returns trigger language plpgsql as $$
begin
    if not exists (select from changed where sender_type = 'agent') then
        return null;
    end if;
    insert into stale_hours (tenant, project, hour)
    select distinct f.tenant, f.project, f.occurred_at / 3600000000 * 3600000000
    from (
        select distinct tenant, project, conversation_id, turn_id from changed
        where sender_type = 'agent' and turn_id is not null
    ) turn
    cross join lateral (
        select f.tenant, f.project, f.occurred_at from feedbacks f
        where f.conversation_id = turn.conversation_id and f.turn_id = turn.turn_id and f.reaction is not null
        offset 0
    ) f
    where f.tenant = turn.tenant and f.project = turn.project;
    return null;
end
$$;
create trigger stale_dimensions_by_insert after insert on messages referencing new table as changed
    for each statement execute function mark_stale_dimensions();
create trigger stale_dimensions_by_delete after delete on messages referencing old table as changed
    for each statement execute function mark_stale_dimensions();
create trigger stale_dimensions_by_update_of after update on messages referencing old table as changed
    for each statement execute function mark_stale_dimensions();
create trigger stale_dimensions_by_update_to after update on messages referencing new table as changed
    for each statement execute function mark_stale_dimensions();

-- Hours that were counted without dimensions
insert into stale_hours (tenant, project, hour)
select distinct tenant, project, start from rollups where grain = 'total';
