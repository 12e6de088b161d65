-- Ids hold up to 1 KiB each, so no index spans more than two of them.
create table turns (
    tenant text not null,
    project text not null,
    conversation_id text not null,
    turn_id text not null,
    user_id text,
    user_message_id text,
    user_text text,
    user_order bigint,
    agent_id text,
    agent_message_id text,
    assistant_text text,
    assistant_said_at bigint,
    intent text,
    strategy text,
    validation_outcome text,
    quality_score double precision,
    track_id text,
    bundle_id text,
    at bigint,
    machine_status text,
    machine_confidence double precision,
    machine_detected_in text,
    machine_message_id text,
    explicit_status text,
    explicit_feedback_id uuid,
    user_feedback_status text not null
        generated always as (coalesce(explicit_status, machine_status, 'neutral')) stored,
    feedback_confidence double precision not null
        generated always as (case when explicit_status is null then coalesce(machine_confidence, 0.5) else 1.0 end) stored,
    rejection_detected_in text
        generated always as (case when machine_status = 'rejected' and coalesce(explicit_status, 'rejected') = 'rejected'
                                  then machine_detected_in end) stored,
    primary key (tenant, project, conversation_id, turn_id)
);
create index idx_feedback_status on turns (tenant, project, user_feedback_status, quality_score desc nulls last)
    where strategy is not null;
create index turns_of_user on turns (tenant, project, user_id, at) where assistant_text is not null;
create index turns_by_intent on turns (tenant, project, intent, at) where strategy is not null;
create index turns_by_time on turns (tenant, project, at) where strategy is not null;
comment on table turns is 'One row a turn: what was asked and answered, and what machine and people make of it';
comment on column turns.at is 'The earliest message of the turn, microseconds';
comment on column turns.user_order is 'Of two questions the one with the higher order stands';
comment on column turns.machine_message_id is 'The message whose verdict the machine status comes from';

create table verdicts (
    tenant text not null,
    project text not null,
    message_id text not null,
    conversation_id text not null,
    turn_id text not null,
    detected_in_turn_id text not null,
    status text not null,
    confidence double precision not null,
    correction_type text,
    decided_by text not null,
    announced boolean not null,
    at bigint not null,
    evaluation bigint not null,
    primary key (tenant, project, message_id)
);
create index verdicts_on_turn on verdicts (tenant, project, conversation_id, turn_id);
comment on table verdicts is 'What each human message says about which turn; none where it says nothing';

create table explicit_feedback (
    feedback_id uuid primary key,
    tenant text not null,
    project text not null,
    conversation_id text not null,
    turn_id text not null,
    user_id text not null,
    status text,
    said text,
    tags text[] not null,
    correction text,
    at bigint not null,
    revision bigint not null
);
create index explicit_feedback_on_turn on explicit_feedback (tenant, project, conversation_id, turn_id);
comment on table explicit_feedback is 'Each person''s judgement of a turn at its highest revision; status null once taken back';

create table llm_verdicts (
    question bytea primary key,
    feedback text,
    confidence double precision,
    correction_type text,
    asked_at timestamptz not null default now()
);
create index llm_verdicts_by_age on llm_verdicts (asked_at);
comment on table llm_verdicts is 'What the language model made of a question, by its digest; feedback null where it gave no answer in time';

-- The server may not offer pgvector, or not to us; half-precision vectors are then bytes, and compared outside.
do $$
declare
    home text;
begin
    begin
        create extension if not exists vector schema public;
    exception when others then
        raise notice 'vectors are kept as bytes: %', sqlerrm;
    end;
    select quote_ident(n.nspname) into home
    from pg_type t join pg_namespace n on n.oid = t.typnamespace
    where t.typname = 'halfvec' and t.typtype = 'b' limit 1;
    execute 'alter table turns add column embedding ' || coalesce(home || '.halfvec(256)', 'bytea');
end
$$;
