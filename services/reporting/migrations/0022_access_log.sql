-- compatible_from: 0001
create table access_log (
    id bigint primary key generated always as identity,
    at bigint not null,
    tenant text not null,
    project text,
    actor text not null,
    action text not null check (action in ('read', 'exported', 'erased', 'changed rule', 'changed access')),
    about text not null
);
comment on table access_log is
    'Who read transcripts, exported, erased, or changed alert rules or access. One row for all readings of a conversation by one caller in an hour';
comment on column access_log.at is 'Time in microseconds';
comment on column access_log.project is 'Null: the whole tenant';
comment on column access_log.actor is 'Subject of the token, account or key';
comment on column access_log.about is
    'The conversation, the format of an export, the id of an erasure request, the name of a rule, or what was changed in the access';
create index access_log_tenant on access_log (tenant, at desc);
create index access_log_at on access_log (at);
create unique index access_log_read on access_log (actor, about, tenant, project, (at / 3600000000)) where action = 'read';
create unique index access_log_erased on access_log (tenant, about) where action = 'erased';
