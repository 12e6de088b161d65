create table feedback (
    feedback_id uuid primary key,
    tenant text not null,
    project text not null,
    conversation_id text not null,
    source text not null,
    user_id text not null,
    agent_id text not null,
    source_id text not null,
    feedback_type text not null,
    origin text not null,
    slots jsonb,
    live boolean not null,
    reaction text,
    revision bigint not null,
    created_revision bigint not null,
    unique (tenant, project, conversation_id, source, user_id, agent_id, source_id)
);
create index feedback_by_user on feedback (tenant, user_id);
comment on column feedback.slots is 'Per slot the latest word said in it; null once its person was forgotten';
