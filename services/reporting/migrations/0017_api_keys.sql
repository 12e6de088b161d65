-- compatible_from: 0001
-- Keys of programs, created and revoked by administrators.
create table api_keys (
    id uuid primary key,
    name text not null,
    key_hash bytea not null,
    tenant text not null,
    projects text[] not null check (cardinality(projects) > 0),
    scopes text[] not null,
    created_at bigint not null,
    created_by text not null,
    expires_at bigint not null,
    used_at bigint,
    check (tenant <> '*' or projects = array['*'])
);
comment on table api_keys is 'Keys of programs. A revoked key has no row. Times are in microseconds';
comment on column api_keys.key_hash is 'SHA-256 of the key';
comment on column api_keys.used_at is 'Time of the last use, to the minute';
create index api_keys_by_hash on api_keys (key_hash);
create index api_keys_of_tenant on api_keys (tenant, name);
