-- compatible_from: 0001
create table alert_channels (
    tenant text not null,
    project text not null,
    name text not null,
    url bytea not null,
    address text not null,
    private boolean not null,
    changed_at bigint not null,
    changed_by text not null,
    primary key (tenant, project, name)
);
comment on table alert_channels is 'Incoming webhooks of Slack that were set on the page of alerts; channels of the file are not here';
comment on column alert_channels.url is 'The secret URL, encrypted with REPORTING_SECRET_KEY (Fernet)';
comment on column alert_channels.address is 'Base URL of the pages, for links';
comment on column alert_channels.private is 'True if the URL may be http, or outside of the public Internet';
comment on column alert_channels.changed_at is 'Time in microseconds';

-- Connections that read for callers see no row: no policy allows it.
alter table alert_channels enable row level security;
