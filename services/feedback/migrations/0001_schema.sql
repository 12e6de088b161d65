-- compatible_from: 0001
-- Times are microseconds since the epoch unless their type says otherwise. Ids hold up to 1 KiB each, so an index spans
-- at most two of them.

create table feedback (
    -- uuid5 of the record's key, so the key needs no unique index of its own: its ids may exceed an index entry.
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
    created_revision bigint not null
);
create index feedback_by_person on feedback (tenant, user_id, feedback_id);
comment on column feedback.slots is 'The last write of each slot; null once the person was erased';

create table turns (
    tenant text not null,
    project text not null,
    conversation_id text not null,
    turn_id text not null,
    agent_id text,
    agent_message_id text,
    user_id text,
    user_at bigint,
    stored_at timestamptz not null default now(),
    answer_version bytea,
    about text,
    primary key (tenant, project, conversation_id, turn_id)
);
create index turns_by_age on turns using brin (stored_at);
comment on table turns is 'Turn registry: the latest answer of an agent and the first person who wrote';
comment on column turns.answer_version is 'Orders the answers of a turn: the greatest is kept';
comment on column turns.about is 'Provenance of the answer, JSON';
comment on column turns.stored_at is 'Insertion time: retention counts from it, so that old chats can be replayed';

create table people (
    tenant text not null,
    project text not null,
    user_id text not null,
    user_type text not null,
    version bytea not null,
    stored_at timestamptz not null default now(),
    primary key (user_id, tenant, project)
);
create index people_by_age on people using brin (stored_at);
comment on table people is 'The user type of each person, from their latest message that names one';

create table session_feedback (
    tenant text not null check (tenant ~ '^[A-Za-z0-9._-]{1,64}$'),
    id uuid not null,
    session_id_opaque text not null check (session_id_opaque ~ '^[0-9a-f]{64}$'),
    user_id_or_null text check (length(user_id_or_null) between 1 and 256),
    recorded_at timestamptz not null,
    label text not null check (label in ('positive', 'negative', 'skip')),
    turn_count_at_end integer not null check (turn_count_at_end >= 0),
    source text not null check (source in ('cli_end', 'cli_exit', 'api_end')),
    schema_version integer not null check (schema_version = 1),
    idempotency_key text check (length(idempotency_key) between 1 and 256),
    announced boolean not null default false,
    primary key (tenant, id),
    unique (tenant, idempotency_key)
);
create index session_feedback_by_session on session_feedback (tenant, session_id_opaque, recorded_at);
create index session_feedback_by_time on session_feedback (recorded_at);
create index session_feedback_to_announce on session_feedback (recorded_at) where not announced;

create table erasures (
    tenant text not null,
    user_id text not null,
    request_id text not null,
    erased_at bigint not null,
    primary key (tenant, user_id)
);
comment on table erasures is 'Erased people and the time of each erasure; read before and after a write of their text';

create table erasure_requests (
    tenant text not null,
    request_id text not null,
    user_id text not null,
    requested_at bigint not null,
    primary key (request_id, tenant)
);
comment on table erasure_requests is 'Erasure requests as the log has them';

create table erasure_receipts (
    tenant text not null,
    request_id text not null,
    service text not null,
    removed bigint not null,
    confirmed_at bigint not null,
    primary key (request_id, tenant, service)
);
comment on table erasure_receipts is 'Each service''s confirmation of an erasure, with the number of rows it changed';
