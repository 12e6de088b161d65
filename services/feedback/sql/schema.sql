-- Tables of the feedback service, created in an empty schema. Times are microseconds since the epoch unless their type
-- says otherwise. Ids have up to 1 KiB each, so an index spans at most two of them.

-- Feedback records.
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
    -- The last write of each slot; null once the person was erased.
    slots jsonb,
    revision bigint not null,
    created_revision bigint not null,
    -- For a verdict of the machine: the review that counts in its place.
    overruled_by uuid,
    -- False if the person forbids training.
    training_allowed boolean not null
);
create index feedback_by_person on feedback (tenant, user_id, feedback_id);
-- Verdicts and reviews have one slot, whose payload names their turn.
create index feedback_on_turn on feedback (conversation_id, (slots -> '' -> 'payload' ->> 'turn_id'))
    where source in ('inference', 'review');

-- Message registry, without people's words: which answer a judgement of a turn is about, and which question it answers.
create table messages (
    tenant text not null,
    project text not null,
    conversation_id text not null,
    message_id text not null,
    -- Null for a person's message that names no turn.
    turn_id text,
    -- A person's id is replaced by a pseudonym after their erasure, if the tenant asks for pseudonyms.
    sender_id text not null,
    sender_type text not null,
    agent_id text,
    -- The beginning of an agent's message, which may address a person by name.
    content text,
    -- The person's role; null once the person was erased.
    user_type text,
    -- Provenance of an agent's message, JSON.
    about text,
    -- The message to which an agent's message was written as a reply.
    reply_to text,
    -- The thread of the message; null: the channel.
    thread text,
    -- False if the message is empty or deleted.
    has_text boolean not null,
    -- Position of the earliest version.
    at bigint not null,
    sequence bigint not null,
    first_log_time bigint not null,
    log_offset bigint not null,
    -- Orders the versions of a message: the greatest is kept.
    version bytea not null,
    -- Insertion time: retention counts from it, so that old chats can be replayed.
    stored_at timestamptz not null default now(),
    primary key (message_id, conversation_id, tenant, project)
);
create index messages_by_age on messages using brin (stored_at);
create index messages_of_turn on messages (turn_id, conversation_id, tenant, project) where turn_id is not null;
-- Finds questions.
create index messages_of_thread on messages (conversation_id, tenant, project, coalesce(thread, ''), at desc);
-- Erasures rename the person in their messages.
create index messages_of_person on messages (sender_id, tenant) where sender_type <> 'agent';
create index messages_of_role on messages (sender_id, tenant, project, version desc) where user_type is not null;

-- Session ratings, in the columns of the specification.
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
    -- Time of the insert by this database's clock; recorded_at is the process's.
    stored_at timestamptz not null default clock_timestamp(),
    primary key (tenant, id),
    unique (tenant, idempotency_key)
);
create index session_feedback_by_session on session_feedback (tenant, session_id_opaque, recorded_at);
create index session_feedback_by_time on session_feedback (recorded_at);
create index session_feedback_to_announce on session_feedback (recorded_at) where not announced;
create index session_feedback_by_person on session_feedback (user_id_or_null, tenant);

-- Erased people and the time of each erasure; read before and after a write of their text.
create table erasures (
    tenant text not null,
    user_id text not null,
    request_id text not null,
    erased_at bigint not null,
    -- Time of the entry's last change by this database's clock.
    noted_at timestamptz not null default clock_timestamp(),
    primary key (tenant, user_id)
);

-- Each person's latest choice about training on their data.
create table training_choices (
    tenant text not null,
    user_id text not null,
    -- Id of the event; breaks ties between choices of one time.
    choice_id text not null,
    chosen_at bigint not null,
    training_allowed boolean not null,
    primary key (tenant, user_id)
);

-- This database's clock orders a person's ratings and erasures, because the clocks of processes differ. An erasure
-- takes the same lock exclusively: it waits for ratings of the person whose insert is not committed.
create function time_rating() returns trigger language plpgsql as $$
begin
    perform pg_advisory_xact_lock_shared(hashtextextended(new.tenant || ' ' || new.user_id_or_null, 0));
    new.stored_at := clock_timestamp();
    return new;
end
$$;
create trigger rating_timed before insert on session_feedback
    for each row when (new.user_id_or_null is not null) execute function time_rating();

create function time_erasure() returns trigger language plpgsql as $$
begin
    new.noted_at := clock_timestamp();
    return new;
end
$$;
create trigger erasure_timed before insert or update on erasures for each row execute function time_erasure();

-- Erasure requests as the log has them.
create table erasure_requests (
    tenant text not null,
    request_id text not null,
    user_id text not null,
    requested_at bigint not null,
    primary key (request_id, tenant)
);

-- Each service's confirmation of an erasure, with the number of rows that it changed.
create table erasure_receipts (
    tenant text not null,
    request_id text not null,
    service text not null,
    removed bigint not null,
    confirmed_at bigint not null,
    primary key (request_id, tenant, service)
);

-- Rate limit of judgements over HTTP: the time at which a person's bucket will be full. A bucket is a minute of state,
-- so it needs no write-ahead log.
create unlogged table buckets (
    tenant text not null,
    user_id text not null,
    full_at timestamptz not null,
    primary key (tenant, user_id)
);
