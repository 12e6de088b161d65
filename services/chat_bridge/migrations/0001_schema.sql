-- compatible_from: 0001
-- Times are microseconds since the epoch. Keys begin with their most selective column: to a planner without statistics,
-- all keys that begin alike are alike.

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
    repeated boolean not null default false,
    version bytea not null,
    stored_at timestamptz not null default now(),
    -- A message id is unique only within its conversation: many chats number messages per conversation.
    primary key (message_id, conversation_id, tenant, project)
);
create index messages_by_age on messages using brin (stored_at);
comment on table messages is 'Message index; content of agents'' messages only, cut to the limit of derived events';
comment on column messages.about is 'Provenance of an agent''s answer, JSON';
comment on column messages.repeated is 'True if the latest version only repeated the one before';
comment on column messages.version is 'Orders the versions of a message: the greatest is kept';
comment on column messages.stored_at is 'Insertion time: retention counts from it, so that old chats can be replayed';

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
    conversation_id text not null,
    primary key (event_id, topic, tenant, project)
);
create index parked_by_original on parked (original_message_id, conversation_id, tenant, project);
create index parked_by_age on parked (parked_at);
comment on table parked is 'Replies and reactions whose original message has not arrived';

create table erasures (
    tenant text not null,
    user_id text not null,
    request_id text not null,
    erased_at bigint not null,
    primary key (tenant, user_id)
);
comment on table erasures is 'Erased people and the time of each erasure; read before and after a write of their text';
