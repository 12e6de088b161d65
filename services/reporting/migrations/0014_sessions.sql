create table sessions (
    tenant text not null,
    id uuid not null,
    recorded_at bigint not null,
    label text not null,
    turns integer not null,
    primary key (tenant, id)
);
comment on table sessions is 'Ratings of sessions, without whose they are: of a tenant, for a session names no project';
create index sessions_time on sessions (tenant, recorded_at);
