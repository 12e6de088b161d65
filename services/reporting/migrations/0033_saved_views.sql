-- compatible_from: 0001
create table saved_views (
    id bigint generated always as identity,
    tenant text not null,
    project text not null,
    name text not null check (length(name) between 1 and 80),
    page text not null,
    query text not null check (length(query) <= 2000),
    created_at bigint not null,
    created_by text not null,
    primary key (id, tenant),
    unique (tenant, project, name)
);
comment on table saved_views is 'Pages with filters that readers of a project saved under a name';
comment on column saved_views.page is 'Path of the page';
comment on column saved_views.query is 'Its filters as a query string, without tenant and project, positions in lists, and ids of people';
comment on column saved_views.created_at is 'Time in microseconds';
comment on column saved_views.created_by is 'Subject of the token, account or key';

-- Not validated, because the earlier set of actions is a part of this one: validation would read the whole log under a lock.
alter table access_log drop constraint access_log_action_check,
    add constraint access_log_action_check
        check (action in ('read', 'exported', 'erased', 'changed rule', 'changed access', 'changed view')) not valid;
comment on table access_log is
    'Who read transcripts, exported, erased, or changed alert rules, views or access. One row for all readings of a conversation by one caller in an hour';
comment on column access_log.about is
    'The conversation, the format of an export, the id of an erasure request, the name of a rule, or what was changed in the views or the access';
