-- Keys begin with what tells rows apart best: to a planner without statistics all that begin alike are alike.
create table messages (
    tenant text not null,
    project text not null,
    message_id text not null,
    conversation_id text not null,
    turn_id text not null,
    sender_id text not null,
    sender_type text not null,
    agent_id text,
    content text,
    truncated boolean not null,
    about text,
    occurred_at bigint not null,
    repeated boolean not null default false,
    primary key (message_id, tenant, project)
);
comment on table messages is 'What each message is; content only of agents'' messages, cut to what derived events carry';

comment on column messages.repeated is 'Whether the version that came last said nothing else than the one before';

create table parked (
    tenant text not null,
    project text not null,
    topic text not null,
    event_id text not null,
    original_message_id text not null,
    record_key bytea,
    value bytea not null,
    cause text not null,
    traceparent text,
    log_time bigint not null,
    parked_at bigint not null,
    primary key (event_id, topic, tenant, project)
);
create index parked_by_original on parked (original_message_id, tenant, project);
create index parked_by_age on parked (parked_at);
comment on table parked is 'Replies and reactions whose original has not been seen';
