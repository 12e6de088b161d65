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
    -- Ids lead, for planners without statistics; each holds up to 1 KiB, so no index spans more than two of them.
    primary key (conversation_id, turn_id, tenant, project)
);
create index idx_feedback_status on turns (tenant, project, user_feedback_status, quality_score desc nulls last)
    where strategy is not null;
create index turns_in_order on turns (conversation_id, tenant, project, at) where assistant_text is not null;
comment on table turns is 'One row a turn: what was asked and answered, and what machine and people make of it';
comment on column turns.at is 'The earliest message of the turn, microseconds';
comment on column turns.user_order is 'Of two questions the one with the higher order stands';
comment on column turns.machine_message_id is 'The message whose verdict the machine status comes from';

create table verdicts (
    tenant text not null,
    project text not null,
    message_id text not null,
    conversation_id text not null,
    turn_id text,
    detected_in_turn_id text not null,
    status text not null,
    confidence double precision not null,
    correction_type text,
    decided_by text not null,
    announced boolean not null,
    at bigint not null,
    evaluation bigint not null,
    primary key (message_id, tenant, project)
);
create index verdicts_on_turn on verdicts (conversation_id, turn_id, tenant, project) where turn_id is not null;
comment on table verdicts is 'What each human message says about which turn; turn_id null where it says nothing';

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
create index explicit_feedback_on_turn on explicit_feedback (conversation_id, turn_id, tenant, project);
comment on table explicit_feedback is 'Each person''s judgement of a turn at its highest revision; status null once taken back';
