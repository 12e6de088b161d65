-- compatible_from: 0001
-- The key is the slot of the person's feedback on the turn, so a response is found by the same id.
create table impressions (
    slot uuid not null,
    tenant text not null,
    project text not null,
    conversation_id text not null,
    turn_id text not null,
    user_id text not null,
    agent_id text not null,
    agent_version text,
    model text,
    occurred_at bigint not null,
    primary key (slot, tenant)
);
comment on table impressions is
    'People and turns whose controls for judging they saw, each at its first time; a rebuild keeps them';
comment on column impressions.slot is 'The slot of the person''s feedback on the turn, as in feedbacks';
create index impressions_time on impressions (tenant, project, occurred_at);
create index impressions_user on impressions (user_id, tenant);
create index impressions_by_age on impressions using brin (occurred_at);
