-- Tables of chat_bridge after all migrations, made by `make docs`. The service applies services/chat_bridge/migrations.
-- The table `migrations` has the applied files.

-- Erased people and the time of each erasure; read before and after a write of their text
create table erasures (
    tenant text not null,
    user_id text not null,
    request_id text not null,
    erased_at bigint not null,
    primary key (tenant, user_id)
);

-- The outcome of each record, by event and message id
create table journal (
    event_id text not null,
    -- The record's coordinates, topic:partition:offset
    at text not null,
    tenant text not null,
    project text not null,
    -- The coordinates of the chat record that it derives from; null if it is one itself
    cause text,
    conversation_id text,
    message_id text,
    feedback_id uuid,
    outcome text not null,
    reason text not null,
    detail text not null,
    noted_at timestamp with time zone not null default now()
);
create index journal_by_age on journal using brin (noted_at);
create index journal_of_cause on journal (cause) where cause is not null;
create index journal_of_event on journal (event_id);
create index journal_of_message on journal (message_id);

-- Message index; content of agents' messages only, cut to the limit of derived events
create table messages (
    tenant text not null,
    project text not null,
    message_id text not null,
    conversation_id text not null,
    turn_id text not null,
    -- The agent's id; empty for a person
    sender_id text not null,
    sender_type text not null,
    agent_id text,
    content text,
    truncated boolean not null,
    -- Provenance of an agent's answer, JSON
    about text,
    -- True if the latest version only repeated the one before
    repeated boolean not null default false,
    -- Orders the versions of a message: the greatest is kept
    version bytea not null,
    -- Insertion time: retention counts from it, so that old chats can be replayed
    stored_at timestamp with time zone not null default now(),
    -- The message that it was written as a reply to
    reply_to text,
    -- The thread that it stands in; null: the channel
    thread text,
    -- False if the message is empty or deleted
    has_text boolean not null default true,
    -- Time of the earliest version in microseconds; 2^62 if only a copy is known
    at bigint not null default '4611686018427387904'::bigint,
    sequence bigint not null default '-1'::integer,
    first_log_time bigint not null default 0,
    log_offset bigint not null default 0,
    primary key (message_id, conversation_id, tenant, project)
);
create index messages_by_age on messages using brin (stored_at);
create index messages_naming_people on messages (sender_id, tenant) where sender_type = 'human' and sender_id <> '';
create index messages_of_thread on messages (conversation_id, coalesce(thread, ''), at desc, tenant, project) where sender_type <> 'agent' and has_text;
create index messages_of_turn on messages (turn_id, conversation_id, tenant, project) where sender_type <> 'agent';

-- Replies and reactions whose original message has not arrived
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
create index parked_by_age on parked (parked_at);
create index parked_by_original on parked (original_message_id, conversation_id, tenant, project);

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
