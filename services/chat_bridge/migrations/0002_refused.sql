-- compatible_from: 0001
-- Events that were not taken, for their producers: which one, which field, which rule; never content.
create table refused (
    tenant text not null,
    project text not null,
    topic text not null,
    event_id text not null,
    field text not null,
    rule text not null,
    times bigint not null,
    refused_at bigint not null,
    primary key (event_id, topic, field, rule, project, tenant)
);
create index refused_by_tenant on refused (tenant, refused_at desc);
