-- compatible_from: 0001
-- Alerts. None of these tables has the id or the text of a person. A rebuild of the reports keeps them, so that no alert
-- is announced again.
create table alert_rules (
    tenant text not null,
    project text not null,
    name text not null,
    rule text not null,
    changed_at bigint not null,
    primary key (tenant, project, name)
);
comment on table alert_rules is 'Alert rules that were set on the page or over HTTP, as JSON; those of the file are not here';

create table alerts (
    id uuid primary key,
    -- Null for the platform: tenants never see those rows.
    tenant text,
    project text,
    rule text not null,
    kind text not null,
    agent text,
    version text,
    opened_at bigint not null,
    over_at bigint,
    title text not null,
    path text not null,
    channels text[] not null,
    finding text not null
);
comment on table alerts is 'Alerts that are open, and those that are over';
comment on column alerts.finding is 'The finding that opened the alert, as JSON';
create unique index alerts_open on alerts
    (coalesce(tenant, ''), coalesce(project, ''), rule, kind, coalesce(agent, ''), coalesce(version, ''))
    where over_at is null;
create index alerts_project on alerts (tenant, project, opened_at desc);

create table alert_messages (
    id uuid primary key,
    position bigint not null generated always as identity,
    channel text not null,
    tenant text,
    project text,
    key text not null,
    message text not null,
    created_at bigint not null,
    next_at bigint not null,
    attempts integer not null default 0,
    dead boolean not null default false,
    last_answer text
);
comment on table alert_messages is 'Announcements that a channel has not accepted yet; dead ones are not retried';
create index alert_messages_due on alert_messages (next_at) where not dead;

create table alert_digests (
    tenant text not null,
    project text not null,
    period_end bigint not null,
    primary key (tenant, project, period_end)
);
comment on table alert_digests is 'Periods whose digest was written, so that each is sent once';
