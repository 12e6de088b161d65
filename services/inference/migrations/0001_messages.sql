create table messages (
    tenant text not null,
    project text not null,
    message_id text not null,
    conversation_id text not null,
    turn_id text not null,
    sender_id text not null,
    role text not null,
    agent_id text,
    text text not null,
    at bigint not null,
    said_at bigint not null,
    versions bigint not null default 1,
    emitted_turn_id text,
    emitted_agent_id text,
    -- Most selective first: to a planner without statistics a key that begins with tenant and project is as good as the
    -- index below, and it reads a whole project for every conversation.
    primary key (message_id, tenant, project)
);
create index messages_in_order on messages (conversation_id, tenant, project, at, message_id) include (versions);
comment on table messages is 'The conversations as the detector reads them';
comment on column messages.at is 'Its place in the conversation: the earliest time seen for it, microseconds';
comment on column messages.said_at is 'The time of the version whose text is kept, microseconds';
comment on column messages.emitted_turn_id is 'The turn that a verdict on this message was last announced for';
