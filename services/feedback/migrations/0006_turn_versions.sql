alter table turns add column answer_version bytea, add column about text;
update turns set
    answer_version = '\x02'::bytea || int8send(agent_at) || '\x00000000000000000000000000000000'::bytea,
    about = case when coalesce(track_id, bundle_id, agent_version, model, trace_id) is not null then
        json_build_object('track_id', track_id, 'bundle_id', bundle_id, 'agent_version', agent_version, 'model', model,
                          'trace_id', trace_id)::text end;
alter table turns drop column agent_at, drop column track_id, drop column bundle_id, drop column agent_version,
    drop column model, drop column trace_id;
comment on column turns.answer_version is 'Of two answers the one with the greater version is kept';
comment on column turns.about is 'What the platform says of how the answer was made, JSON';

create table people (
    tenant text not null,
    project text not null,
    user_id text not null,
    user_type text not null,
    version bytea not null,
    stored_at timestamptz not null default now(),
    primary key (user_id, tenant, project)
);
create index people_by_age on people using brin (stored_at);
comment on table people is 'What the platform calls each person in their last message that says so';
