-- Tables of inference, created in an empty schema. Times are microseconds since the epoch unless their type says
-- otherwise. Keys begin with their most selective column: a planner without statistics would read a whole project
-- through a key that begins with tenant and project. Ids have up to 1 KiB each, so an index spans at most two of them.

-- Conversations as the detector reads them.
create table messages (
    tenant text not null,
    project text not null,
    message_id text not null,
    conversation_id text not null,
    turn_id text not null,
    sender_id text not null,
    role text not null,
    user_type text,
    agent_id text,
    text text not null,
    -- Provenance of an agent's message, JSON.
    about text,
    -- The message to which this one was written as a reply.
    reply_to text,
    -- The thread of the message; empty: the channel.
    thread text not null default '',
    -- Orders the messages of a conversation: the least of any version is kept (contracts/versions.py).
    position bytea not null,
    -- Time of the earliest version: a part of `position`.
    at bigint not null
        generated always as (('x' || encode(substring(position from 1 for 8), 'hex'))::bit(64)::bigint) stored,
    versions bigint not null default 1,
    -- The turn that the last announced verdict on this message named.
    emitted_turn_id text,
    emitted_agent_id text,
    -- Orders the versions of a message: the greatest is kept.
    version bytea not null,
    -- Time of the version that is kept: a part of `version` (contracts/versions.py).
    said_at bigint not null
        generated always as (('x' || encode(substring(version from 2 for 8), 'hex'))::bit(64)::bigint) stored,
    -- Insertion time: retention counts from it, so that old chats can be replayed.
    stored_at timestamptz not null default now(),
    -- A message id is unique only within its conversation: many chats number messages per conversation.
    primary key (message_id, conversation_id, tenant, project)
);
create index messages_in_order on messages (conversation_id, tenant, project, position, message_id) include (versions);
-- A thread's id takes up to 1 KiB and would not fit beside two others: the index has its hash.
create index messages_in_thread
    on messages (conversation_id, tenant, project, hashtextextended(thread, 0), position, message_id);
create index messages_of_person on messages (sender_id, tenant) where role = 'human';
create index messages_by_age on messages using brin (stored_at);

-- Turn index: question, answer, and the verdicts of machine and people on it.
create table turns (
    tenant text not null,
    project text not null,
    conversation_id text not null,
    turn_id text not null,
    -- The person who asked; null after their erasure.
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
    -- Time of the turn's earliest message.
    at bigint,
    -- Sentence vectors with a mark of their embedder (turns/vectors.py). They do not compress, so they are stored plain.
    user_vector bytea storage external,
    assistant_vector bytea storage external,
    -- Order the questions and the answers of a turn: the greatest of each is kept.
    user_version bytea,
    assistant_version bytea,
    stored_at timestamptz not null default now(),
    machine_status text,
    machine_confidence double precision,
    machine_detected_in text,
    -- The message whose verdict gives machine_status.
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

create index idx_feedback_status on turns (tenant, project, user_feedback_status, quality_score desc nulls last)
    where strategy is not null;
create index turns_in_order on turns (conversation_id, tenant, project, at) where assistant_text is not null;
-- Covers the search through one person's turns, so that it reads only the rows it selects.
create index turns_of_person on turns (user_id, tenant, project, at) include (assistant_vector)
    where assistant_text is not null;
create index open_turns_of_person on turns (user_id, tenant) where assistant_text is null;
create index turns_by_age on turns using brin (stored_at);

-- The verdict of each human message and the turn it is about; turn_id is null without a verdict. Of two verdicts on a
-- message the one with the greater stamp counts: release, mode, evaluation (contracts/detectors.py).
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
    release integer not null,
    mode smallint not null,
    -- Identifies the detector's code, weights and models; never ordered.
    digest text not null,
    -- Number of message versions of the conversation that the detector knew.
    evaluation bigint not null,
    stored_at timestamptz not null default now(),
    primary key (message_id, conversation_id, tenant, project)
);
create index verdicts_on_turn on verdicts (conversation_id, turn_id, tenant, project) where turn_id is not null;
create index verdicts_by_age on verdicts using brin (stored_at);

-- Explicit feedback, emoji and reviews of each person on a turn, at the highest revision.
create table user_reactions (
    feedback_id uuid primary key,
    tenant text not null,
    project text not null,
    conversation_id text not null,
    turn_id text not null,
    user_id text not null,
    -- Null once retracted.
    status text,
    said text,
    tags text[] not null,
    correction text,
    at bigint not null,
    revision bigint not null,
    explicit boolean not null,
    -- True for a review, which sets a turn's status if no person's reaction does.
    reviewer boolean not null default false
);
create index user_reactions_on_turn on user_reactions (conversation_id, turn_id, tenant, project);
create index user_reactions_of_person on user_reactions (user_id, tenant);

-- The reactions that count: of each person on a turn the newest, unless that is a retracted explicit one; of a turn's
-- reviews the newest that is not retracted. Reporting has a view of the same name. A query for one turn reads only that
-- turn: its columns are the first of the distinct ones.
create view effective as
select * from (
    select distinct on (conversation_id, turn_id, tenant, project, reviewer, case when not reviewer then user_id end) *
    from user_reactions
    where explicit or status is not null
    order by conversation_id, turn_id, tenant, project, reviewer, case when not reviewer then user_id end,
        at desc, feedback_id desc
) newest
where status is not null;

-- The LLM gate's first answer to each request, without text of people.
create table gate_answers (
    -- SHA-256 of the conversation's key and the bytes of the request.
    digest bytea primary key,
    tenant text not null,
    project text not null,
    -- The model's JSON; null if it came too late, then rules and learned layer decide.
    answer text,
    settled_at timestamptz not null default now()
);

-- Erased people and the time of each erasure; read before and after a write of their text.
create table erasures (
    tenant text not null,
    user_id text not null,
    request_id text not null,
    erased_at bigint not null,
    primary key (tenant, user_id)
);

