-- Tables of feedback after all migrations, made by `make docs`. The service applies services/feedback/migrations.
-- The table `migrations` has the applied files.

-- Turns whose verdicts have changed since they were summed up
create table aggregated_turns (
    tenant text not null,
    project text not null,
    conversation_id text not null,
    turn_id text not null,
    changes bigint not null,
    changed_at timestamp with time zone not null default clock_timestamp(),
    primary key (conversation_id, turn_id, tenant, project)
);

-- The verdicts of feedback.created, each at its highest revision
create table aggregated_verdicts (
    feedback_id uuid not null,
    revision bigint not null,
    tenant text,
    project text,
    conversation_id text,
    turn_id text,
    agent_id text,
    -- Null, like all after the revision, once the record was erased
    user_id text,
    origin text,
    feedback_type text,
    reaction text,
    value double precision,
    occurred_at bigint,
    primary key (feedback_id)
);
create index aggregated_verdicts_of_person on aggregated_verdicts (user_id, tenant) where user_id is not null;
create index aggregated_verdicts_on_turn on aggregated_verdicts (conversation_id, turn_id, tenant, project) where user_id is not null;

-- The sum of the verdicts on each agent's answers in a turn, as it is announced
create table aggregates (
    aggregate_id uuid not null,
    revision bigint not null,
    created_revision bigint not null,
    tenant text not null,
    project text not null,
    conversation_id text not null,
    turn_id text not null,
    agent_id text not null,
    occurred_at bigint not null,
    verdicts bigint not null,
    mean double precision,
    low double precision,
    high double precision,
    announced boolean not null default false,
    primary key (aggregate_id)
);
create index aggregates_of_turn on aggregates (conversation_id, turn_id, tenant, project);
create index aggregates_to_announce on aggregates (aggregate_id) where not announced;

-- Rate limit of judgements over HTTP: the time at which a person's bucket will be full
create table buckets (
    tenant text not null,
    user_id text not null,
    full_at timestamp with time zone not null,
    primary key (tenant, user_id)
);

-- Each service's confirmation of an erasure, with the number of rows it changed
create table erasure_receipts (
    tenant text not null,
    request_id text not null,
    service text not null,
    removed bigint not null,
    confirmed_at bigint not null,
    primary key (request_id, tenant, service)
);

-- Erasure requests as the log has them
create table erasure_requests (
    tenant text not null,
    request_id text not null,
    user_id text not null,
    requested_at bigint not null,
    primary key (request_id, tenant)
);

-- Erased people and the time of each erasure; read before and after a write of their text
create table erasures (
    tenant text not null,
    user_id text not null,
    request_id text not null,
    erased_at bigint not null,
    -- Time of the last change of the entry by this database's clock
    noted_at timestamp with time zone not null default clock_timestamp(),
    primary key (tenant, user_id)
);
-- Before insert, update: time_erasure()

create table feedback (
    feedback_id uuid not null,
    tenant text not null,
    project text not null,
    conversation_id text not null,
    source text not null,
    user_id text not null,
    agent_id text not null,
    source_id text not null,
    feedback_type text not null,
    origin text not null,
    -- The last write of each slot; null once the person was erased
    slots jsonb,
    live boolean not null,
    reaction text,
    revision bigint not null,
    created_revision bigint not null,
    -- Of a machine's verdict: the review that counts in its place
    overruled_by uuid,
    primary key (feedback_id)
);
create index feedback_by_person on feedback (tenant, user_id, feedback_id);
create index feedback_on_turn on feedback (conversation_id, (((slots -> '') -> 'payload') ->> 'turn_id')) where source = any (array['inference', 'review']);

-- Rate limit of requests with impressions: the time at which a person's bucket will be full
create table impression_buckets (
    tenant text not null,
    user_id text not null,
    full_at timestamp with time zone not null,
    primary key (tenant, user_id)
);

-- The outcome of each record, by event and message id
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

-- The user type of each person, from their latest message that names one
create table people (
    tenant text not null,
    project text not null,
    user_id text not null,
    user_type text not null,
    version bytea not null,
    stored_at timestamp with time zone not null default now(),
    -- Time of the message that names the role, in microseconds: a part of `version`
    said_at bigint not null generated always as (((('x' || encode(substring(version from 2 for 8), 'hex')))::bit(64))::bigint) stored,
    primary key (user_id, tenant, project)
);
create index people_by_age on people using brin (stored_at);

create table session_feedback (
    tenant text not null,
    id uuid not null,
    session_id_opaque text not null,
    user_id_or_null text,
    recorded_at timestamp with time zone not null,
    label text not null,
    turn_count_at_end integer not null,
    source text not null,
    schema_version integer not null,
    idempotency_key text,
    announced boolean not null default false,
    -- Time of the insert by this database's clock; recorded_at is the process's
    stored_at timestamp with time zone not null default clock_timestamp(),
    primary key (tenant, id),
    unique (tenant, idempotency_key),
    check (label = any (array['positive', 'negative', 'skip'])),
    check (length(idempotency_key) >= 1 and length(idempotency_key) <= 256),
    check (length(user_id_or_null) >= 1 and length(user_id_or_null) <= 256),
    check (schema_version = 1),
    check (session_id_opaque ~ '^[0-9a-f]{64}$'),
    check (source = any (array['cli_end', 'cli_exit', 'api_end'])),
    check (tenant ~ '^[A-Za-z0-9._-]{1,64}$'),
    check (turn_count_at_end >= 0)
);
create index session_feedback_by_person on session_feedback (user_id_or_null, tenant);
create index session_feedback_by_session on session_feedback (tenant, session_id_opaque, recorded_at);
create index session_feedback_by_time on session_feedback (recorded_at);
create index session_feedback_to_announce on session_feedback (recorded_at) where not announced;
-- Before insert: time_rating()

-- Turn registry: the latest answer of an agent and the first person who wrote
create table turns (
    tenant text not null,
    project text not null,
    conversation_id text not null,
    turn_id text not null,
    agent_id text,
    agent_message_id text,
    -- Who asked; after their erasure a pseudonym, if the tenant asks for pseudonyms
    user_id text,
    user_at bigint,
    -- Insertion time: retention counts from it, so that old chats can be replayed
    stored_at timestamp with time zone not null default now(),
    -- Orders the answers of a turn: the greatest is kept
    answer_version bytea,
    -- Provenance of the answer, JSON
    about text,
    -- The first message of a person in the turn: its question
    user_message_id text,
    -- The message that the answer was written as a reply to
    reply_to text,
    -- The thread that the answer stands in; null: the channel
    thread text,
    primary key (tenant, project, conversation_id, turn_id)
);
create index turns_by_age on turns using brin (stored_at);
create index turns_of_conversation on turns (conversation_id, tenant);
create index turns_of_person on turns (user_id, tenant);

-- function time_erasure: migrations/0007_rating_order.sql
-- function time_rating: migrations/0007_rating_order.sql
