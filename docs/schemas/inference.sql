-- Tables of inference after all migrations, made by `make docs`. The service applies services/inference/migrations.
-- The table `migrations` has the applied files.

-- Versions of detectors, and when each last judged a message that arrived
create table detectors (
    version text not null,
    seen_at timestamp with time zone not null default now(),
    primary key (version)
);

-- Erased people and the time of each erasure; read before and after a write of their text
create table erasures (
    tenant text not null,
    user_id text not null,
    request_id text not null,
    erased_at bigint not null,
    primary key (tenant, user_id)
);

-- The LLM gate's first answer to each request; holds no text of people
create table gate_answers (
    -- SHA-256 of the conversation's key and the bytes of the request
    digest bytea not null,
    tenant text not null,
    project text not null,
    -- The model's JSON; null if it came too late, then rules and learned layer decide
    answer text,
    settled_at timestamp with time zone not null default now(),
    primary key (digest)
);

-- The outcome of ignored and dead-lettered records, by event and message id
create table journal (
    event_id text not null,
    -- The record's coordinates, topic:partition:offset
    at text not null,
    tenant text not null,
    project text not null,
    -- The coordinates of the chat record that it derives from; null if it is one itself
    cause text,
    conversation_id text,
    message_id text,
    feedback_id uuid,
    outcome text not null,
    reason text not null,
    detail text not null,
    noted_at timestamp with time zone not null default now()
);
create index journal_by_age on journal using brin (noted_at);
create index journal_of_cause on journal (cause) where cause is not null;
create index journal_of_event on journal (event_id);
create index journal_of_message on journal (message_id);

-- Conversations as the detector reads them
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
    -- Position in the conversation: the earliest time of any version
    at bigint not null,
    versions bigint not null default 1,
    -- The turn that the last announced verdict on this message named
    emitted_turn_id text,
    emitted_agent_id text,
    -- Orders the versions of a message: the greatest is kept
    version bytea not null,
    -- Positions before an earlier version arrived, latest first
    stood_at bigint[] not null default '{}'::bigint[],
    -- Provenance of an agent's message, JSON
    about text,
    user_type text,
    -- Insertion time: retention counts from it, so that old chats can be replayed
    stored_at timestamp with time zone not null default now(),
    -- The message that it was written as a reply to
    reply_to text,
    -- The thread that it stands in; empty: the channel
    thread text not null default '',
    -- Threads it stood in before a version that names another arrived, latest first
    stood_in text[] not null default '{}',
    -- Time of the version that is kept, in microseconds: a part of `version`
    said_at bigint not null generated always as (((('x' || encode(substring(version from 2 for 8), 'hex')))::bit(64))::bigint) stored,
    primary key (message_id, conversation_id, tenant, project)
);
create index messages_by_age on messages using brin (stored_at);
create index messages_in_order on messages (conversation_id, tenant, project, at, message_id) include (versions);
create index messages_in_thread on messages (conversation_id, tenant, project, hashtextextended(thread, 0::bigint), at, message_id);
create index messages_of_person on messages (sender_id, tenant) where role = 'human';

-- Second judgements; each begins an epoch, and verdicts are given in the latest one
create table rejudgements (
    epoch bigint not null,
    -- Messages from this time on are judged again, in microseconds
    since bigint not null,
    detector text not null,
    -- The last message judged again, JSON; null before the first
    position text,
    judged bigint not null default 0,
    -- Messages by the difference between the verdicts, JSON
    counts text not null default '{}',
    started_at timestamp with time zone not null default now(),
    finished_at timestamp with time zone,
    primary key (epoch)
);

-- Turn index: question, answer, and the verdicts of machine and people on it
create table turns (
    tenant text not null,
    project text not null,
    conversation_id text not null,
    turn_id text not null,
    -- Who asked; null after their erasure
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
    -- Time of the earliest message of the turn
    at bigint,
    machine_status text,
    machine_confidence double precision,
    machine_detected_in text,
    -- The message whose verdict gives machine_status
    machine_message_id text,
    user_status text,
    user_feedback_id uuid,
    user_feedback_status text not null generated always as (coalesce(user_status, machine_status, 'neutral')) stored,
    feedback_confidence double precision not null generated always as (
case
    when (user_status is null) then coalesce(machine_confidence, (0.5)::double precision)
    else (1.0)::double precision
end) stored,
    rejection_detected_in text generated always as (
case
    when ((machine_status = 'rejected') and (coalesce(user_status, 'rejected') = 'rejected')) then machine_detected_in
    else null::text
end) stored,
    -- Sentence vector of user_text, length 1; null until computed
    user_vector halfvec(256),
    assistant_vector halfvec(256),
    -- Identifies the encoder of user_vector; vectors of two encoders are never compared
    user_embedder bigint,
    assistant_embedder bigint,
    -- Orders the questions of a turn: the greatest is kept
    user_version bytea,
    -- Orders the answers of a turn: the greatest is kept
    assistant_version bytea,
    stored_at timestamp with time zone not null default now(),
    primary key (conversation_id, turn_id, tenant, project)
);
create index idx_feedback_status on turns (tenant, project, user_feedback_status, quality_score desc nulls last) where strategy is not null;
create index turns_by_age on turns using brin (stored_at);
create index turns_in_order on turns (conversation_id, tenant, project, at) where assistant_text is not null;
create index turns_of_person on turns (user_id, tenant, project, at) include (assistant_embedder, assistant_vector) where assistant_text is not null;

-- Explicit feedback and emoji of each person on a turn, at the highest revision; status null once retracted
create table user_reactions (
    feedback_id uuid not null,
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
    explicit boolean not null,
    reviewer boolean not null default false,
    primary key (feedback_id)
);
create index user_reactions_of_person on user_reactions (user_id, tenant);
create index user_reactions_on_turn on user_reactions (conversation_id, turn_id, tenant, project);

-- The verdict of each human message and the turn it is about; turn_id null without a verdict
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
    stored_at timestamp with time zone not null default now(),
    epoch bigint not null default 0,
    -- Sort key of the detector's version; empty if release 0.1.0 judged
    judged_by text not null default '',
    -- Reason for which the verdict is not announced; null if it is, or of an older release
    held_back text,
    primary key (message_id, conversation_id, tenant, project)
);
create index verdicts_by_age on verdicts using brin (stored_at);
create index verdicts_on_turn on verdicts (conversation_id, turn_id, tenant, project) where turn_id is not null;

-- view effective: migrations/0009_effective.sql
-- The reactions that count: of each person on a turn the newest, unless that is a retracted explicit one; of a
-- turn's reviews the newest that is not retracted
-- function likeness: migrations/0001_schema.sql
-- function turn_vector: migrations/0001_schema.sql
