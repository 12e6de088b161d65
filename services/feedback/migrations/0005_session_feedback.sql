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
