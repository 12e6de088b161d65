-- Counts of effective reactions by hour and day, so that a figure of a long window need not read its feedbacks.
create table rollups (
    tenant text not null,
    project text not null,
    grain text not null,
    start bigint not null,
    origin text not null,
    agent_id text,
    agent_version text,
    model text,
    kind text,
    reason text,
    ok integer not null,
    neutral integer not null,
    not_ok integer not null
);
comment on table rollups is 'Effective reactions counted; wrong for the hours that stale_hours names, and their days';
comment on column rollups.grain is 'hour, day: by agent, version and model; total: hours of all agents; reason hour, reason day';
create index rollups_start on rollups (tenant, project, grain, start);
create index rollups_agent on rollups (tenant, project, agent_id, start) where grain = 'hour';

-- Rows are only ever added by whoever changes feedbacks, and deleted by whoever counts the hour anew in the same
-- snapshot. So whatever a reader sees, an hour is either counted as the reader sees its feedbacks, or stale to it.
create table stale_hours (
    tenant text not null,
    project text not null,
    hour bigint not null,
    marked_at timestamptz not null default clock_timestamp()
);
comment on table stale_hours is 'Hours in which feedback has changed since they were counted';
create index stale_hours_hour on stale_hours (tenant, project, hour);

create function mark_stale_hours() returns trigger language plpgsql as $$
begin
    -- What else stands in a changed slot may begin to count, or cease to.
    insert into stale_hours (tenant, project, hour)
    select distinct tenant, project, occurred_at / 3600000000 * 3600000000 from (
        select tenant, project, occurred_at from changed
        union all
        select f.tenant, f.project, f.occurred_at
        from feedbacks f
        where f.slot in (select slot from changed where origin = 'user' and source <> 'review')
          and (f.feedback_type = 'explicit' or f.reaction is not null)
    ) touched;
    return null;
end
$$;
create trigger stale_by_insert after insert on feedbacks referencing new table as changed
    for each statement execute function mark_stale_hours();
create trigger stale_by_delete after delete on feedbacks referencing old table as changed
    for each statement execute function mark_stale_hours();
create trigger stale_by_update_of after update on feedbacks referencing old table as changed
    for each statement execute function mark_stale_hours();
create trigger stale_by_update_to after update on feedbacks referencing new table as changed
    for each statement execute function mark_stale_hours();

insert into stale_hours (tenant, project, hour)
select distinct tenant, project, occurred_at / 3600000000 * 3600000000 from feedbacks;
