-- compatible_from: 0001
-- Apart from the buckets of judgements: whoever reads many answers can still judge them.
create unlogged table impression_buckets (
    tenant text not null,
    user_id text not null,
    full_at timestamptz not null,
    primary key (tenant, user_id)
);
comment on table impression_buckets is
    'Rate limit of requests with impressions: the time at which a person''s bucket will be full';
