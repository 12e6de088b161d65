-- compatible_from: 0001
create table audit_draws (
    id bigint generated always as identity primary key,
    tenant text not null,
    project text not null,
    conversation_id text not null,
    turn_id text not null,
    drawn_at bigint not null
);
comment on table audit_draws is
    'Answers drawn at random for review. Only their reviews measure the machine. A rebuild of the reports keeps them';
create unique index audit_draws_turn on audit_draws (conversation_id, turn_id, tenant, project);
create index audit_draws_project on audit_draws (tenant, project, id);
-- The answers of a project by time: the audit draws from them, and its rates are shares of them.
create index messages_answers on messages (tenant, project, occurred_at) where sender_type = 'agent';
