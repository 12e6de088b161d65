-- Tables of chat_bridge, created in an empty schema. Times are microseconds since the epoch unless their type says
-- otherwise. Keys begin with their most selective column: to a planner without statistics, all keys that begin alike
-- are alike.

-- Message index: the content of agents' messages only, cut to the limit of derived events.
create table messages (
    tenant text not null,
    project text not null,
    message_id text not null,
    conversation_id text not null,
    turn_id text not null,
    -- The agent's id; empty for a person.
    sender_id text not null,
    sender_type text not null,
    agent_id text,
    content text,
    truncated boolean not null,
    -- Provenance of an agent's answer, JSON.
    about text,
    -- The message to which this one was written as a reply.
    reply_to text,
    -- The thread of the message; null: the channel.
    thread text,
    -- False if the message is empty or deleted.
    has_text boolean not null default true,
    -- Position of the earliest version.
    at bigint not null,
    sequence bigint not null,
    first_log_time bigint not null,
    log_offset bigint not null,
    -- True for a message in a thread by the person who began the thread.
    is_of_starter boolean not null,
    -- Orders the versions of a message: the greatest is kept.
    version bytea not null,
    -- Insertion time: retention counts from it, so that old chats can be replayed.
    stored_at timestamptz not null default now(),
    -- A message id is unique only within its conversation: many chats number messages per conversation.
    primary key (message_id, conversation_id, tenant, project)
);
create index messages_by_age on messages using brin (stored_at);
create index messages_of_thread on messages (conversation_id, coalesce(thread, ''), at desc, tenant, project)
    where sender_type = 'human' and has_text;
create index messages_in_threads on messages (thread, conversation_id, tenant, project, at desc) where thread is not null;
create index messages_of_agents on messages (conversation_id, at desc, tenant, project)
    where sender_type = 'agent' and has_text;
create index messages_of_turn on messages (turn_id, conversation_id, tenant, project) where sender_type = 'human';

-- Replies and reactions whose original message has not arrived.
create table parked (
    tenant text not null,
    project text not null,
    topic text not null,
    -- Derived from the content: producers may use an event id again.
    identity text not null,
    conversation_id text not null,
    original_message_id text not null,
    record_key bytea,
    value bytea not null,
    cause text not null,
    traceparent text,
    -- The person who caused the event; null for an agent.
    user_id text,
    -- Time of the event, by which an erasure covers it.
    said_at bigint not null,
    log_time bigint not null,
    parked_at bigint not null,
    primary key (identity, topic, tenant, project)
);
create index parked_by_original on parked (original_message_id, conversation_id, tenant, project);
create index parked_by_age on parked (parked_at);
create index parked_of_person on parked (user_id, tenant);

-- Events that were rejected, for their producers: the event and the reason, without content.
create table refused (
    tenant text not null,
    project text not null,
    topic text not null,
    event_id text not null,
    reason text not null,
    detail text not null,
    times bigint not null,
    refused_at bigint not null,
    primary key (event_id, topic, reason, detail, project, tenant)
);
create index refused_by_tenant on refused (tenant, refused_at desc);

-- Erased people and the time of each erasure; read before and after a write of their text.
create table erasures (
    tenant text not null,
    user_id text not null,
    request_id text not null,
    erased_at bigint not null,
    primary key (tenant, user_id)
);

