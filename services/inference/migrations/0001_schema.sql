-- compatible_from: 0001
-- Times are microseconds since the epoch unless their type says otherwise. Keys begin with their most selective column:
-- a planner without statistics would read a whole project through a key that begins with tenant and project. Ids hold up
-- to 1 KiB each, so an index spans at most two of them.

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
    versions bigint not null default 1,
    emitted_turn_id text,
    emitted_agent_id text,
    version bytea not null,
    stood_at bigint[] not null default '{}',
    about text,
    user_type text,
    stored_at timestamptz not null default now(),
    -- A message id is unique only within its conversation: many chats number messages per conversation.
    primary key (message_id, conversation_id, tenant, project)
);
create index messages_in_order on messages (conversation_id, tenant, project, at, message_id) include (versions);
create index messages_of_person on messages (sender_id, tenant) where role = 'human';
create index messages_by_age on messages using brin (stored_at);
comment on table messages is 'Conversations as the detector reads them';
comment on column messages.at is 'Position in the conversation: the earliest time of any version';
comment on column messages.version is 'Orders the versions of a message: the greatest is kept';
comment on column messages.stood_at is 'Positions before an earlier version arrived, latest first';
comment on column messages.about is 'Provenance of an agent''s message, JSON';
comment on column messages.emitted_turn_id is 'The turn that the last announced verdict on this message named';
comment on column messages.stored_at is 'Insertion time: retention counts from it, so that old chats can be replayed';

create table turns (
    tenant text not null,
    project text not null,
    conversation_id text not null,
    turn_id text not null,
    user_id text,
    user_message_id text,
    user_text text,
    agent_id text,
    agent_message_id text,
    assistant_text text,
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
    user_status text,
    user_feedback_id uuid,
    user_feedback_status text not null
        generated always as (coalesce(user_status, machine_status, 'neutral')) stored,
    feedback_confidence double precision not null
        generated always as (case when user_status is null then coalesce(machine_confidence, 0.5) else 1.0 end) stored,
    rejection_detected_in text
        generated always as (case when machine_status = 'rejected' and coalesce(user_status, 'rejected') = 'rejected'
                                  then machine_detected_in end) stored,
    primary key (conversation_id, turn_id, tenant, project)
);

-- Sentence vectors are pgvector's halfvec if the server has the extension and our role may create it, else real[]. The
-- two functions hide the difference.
do $$
begin
    begin
        create extension if not exists vector with schema public;
    exception when insufficient_privilege or undefined_file or feature_not_supported or invalid_schema_name then
        null;
    end;
    if to_regtype('halfvec') is not null then
        alter table turns add column user_vector halfvec(256), add column assistant_vector halfvec(256);
        create function turn_vector(real[]) returns halfvec language sql immutable strict parallel safe
            return $1::halfvec(256);
        create function likeness(halfvec, halfvec) returns float8 language sql immutable strict parallel safe
            return -($1 <#> $2);
    else
        alter table turns add column user_vector real[], add column assistant_vector real[];
        -- Vectors do not compress: store them plain.
        alter table turns alter column user_vector set storage external;
        alter table turns alter column assistant_vector set storage external;
        create function turn_vector(real[]) returns real[] language sql immutable strict parallel safe return $1;
        create function likeness(real[], real[]) returns float8 language sql immutable strict parallel safe
            return (select sum(a::float8 * b) from unnest($1, $2) as pair (a, b));
    end if;
end $$;
comment on function likeness is 'Cosine of two vectors of length 1; a vector of zeros is like none';

alter table turns
    add column user_embedder bigint,
    add column assistant_embedder bigint,
    add column user_version bytea,
    add column assistant_version bytea,
    add column stored_at timestamptz not null default now();
create index idx_feedback_status on turns (tenant, project, user_feedback_status, quality_score desc nulls last)
    where strategy is not null;
create index turns_in_order on turns (conversation_id, tenant, project, at) where assistant_text is not null;
-- Covers the search through one person's turns, so that it reads only the rows it selects.
create index turns_of_person on turns (user_id, tenant, project, at) include (assistant_embedder, assistant_vector)
    where assistant_text is not null;
create index turns_by_age on turns using brin (stored_at);
comment on table turns is 'Turn index: question, answer, and the verdicts of machine and people on it';
comment on column turns.at is 'Time of the earliest message of the turn';
comment on column turns.machine_message_id is 'The message whose verdict gives machine_status';
comment on column turns.user_vector is 'Sentence vector of user_text, length 1; null until computed';
comment on column turns.user_embedder is 'Identifies the encoder of user_vector; vectors of two encoders are never compared';
comment on column turns.user_version is 'Orders the questions of a turn: the greatest is kept';
comment on column turns.assistant_version is 'Orders the answers of a turn: the greatest is kept';

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
    stored_at timestamptz not null default now(),
    primary key (message_id, conversation_id, tenant, project)
);
create index verdicts_on_turn on verdicts (conversation_id, turn_id, tenant, project) where turn_id is not null;
create index verdicts_by_age on verdicts using brin (stored_at);
comment on table verdicts is 'The verdict of each human message and the turn it is about; turn_id null without a verdict';

create table user_reactions (
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
    revision bigint not null,
    explicit boolean not null
);
create index user_reactions_on_turn on user_reactions (conversation_id, turn_id, tenant, project);
create index user_reactions_of_person on user_reactions (user_id, tenant);
comment on table user_reactions is
    'Explicit feedback and emoji of each person on a turn, at the highest revision; status null once retracted';

create table gate_answers (
    digest bytea primary key,
    tenant text not null,
    project text not null,
    answer text,
    settled_at timestamptz not null default now()
);
comment on table gate_answers is 'The LLM gate''s first answer to each request; holds no text of people';
comment on column gate_answers.digest is 'SHA-256 of the conversation''s key and the bytes of the request';
comment on column gate_answers.answer is 'The model''s JSON; null if it came too late, then rules and learned layer decide';

create table erasures (
    tenant text not null,
    user_id text not null,
    request_id text not null,
    erased_at bigint not null,
    primary key (tenant, user_id)
);
comment on table erasures is 'Erased people and the time of each erasure; read before and after a write of their text';
