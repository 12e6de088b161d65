-- compatible_from: 0001
-- A bucket holds a minute of state, so it needs no write-ahead log.
create unlogged table buckets (
    tenant text not null,
    user_id text not null,
    full_at timestamptz not null,
    primary key (tenant, user_id)
);
comment on table buckets is 'Rate limit of judgements over HTTP: the time at which a person''s bucket will be full';
