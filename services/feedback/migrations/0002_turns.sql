-- Ids hold up to 1 KiB each, so no index spans more than two of them.
create table turns (
    tenant text not null,
    project text not null,
    conversation_id text not null,
    turn_id text not null,
    agent_id text,
    agent_message_id text,
    agent_at bigint,
    user_id text,
    user_at bigint,
    track_id text,
    bundle_id text,
    agent_version text,
    model text,
    trace_id text,
    primary key (tenant, project, conversation_id, turn_id)
);
comment on table turns is 'Who answered whom on each turn: the latest answer of an agent, the first person who wrote';
