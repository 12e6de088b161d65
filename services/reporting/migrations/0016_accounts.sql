-- compatible_from: 0001
-- Accounts of operators without an identity provider, and their sessions.
create table accounts (
    name text primary key check (name ~ '^[a-z0-9][a-z0-9._@+-]{0,99}$'),
    tenant text not null,
    projects text[] not null check (cardinality(projects) > 0),
    role text not null check (role in ('reader', 'reviewer', 'operator', 'admin')),
    created_at bigint not null,
    created_by text not null,
    password_at bigint,
    disabled_at bigint,
    check (tenant <> '*' or projects = array['*'])
);
comment on table accounts is 'Operators who sign in with a password. Times are in microseconds';
comment on column accounts.tenant is 'The tenant whose projects the account may use; * means all tenants';
comment on column accounts.projects is 'Names of projects; only * means all of the tenant';
comment on column accounts.password_at is 'Time of the last change of the password; null until the first one is set';
create index accounts_of_tenant on accounts (tenant, name);

create table account_secrets (
    name text primary key references accounts on delete cascade,
    password_hash text,
    link_hash bytea,
    link_expires_at bigint
);
create index account_secrets_of_link on account_secrets (link_hash) where link_hash is not null;
comment on table account_secrets is 'Argon2 hash of each password, and SHA-256 of the unused link to set one';

create table account_sessions (
    session_hash bytea primary key,
    name text not null references accounts on delete cascade,
    created_at bigint not null
);
comment on table account_sessions is 'Signed-in browsers: SHA-256 of the cookie';
create index account_sessions_of_account on account_sessions (name);

create table sign_in_attempts (
    subject bytea primary key,
    failures integer not null,
    since bigint not null
);
comment on table sign_in_attempts is 'Failed attempts within a window since `since`, by SHA-256 of a name or an address';

-- Connections that read for callers see none of these rows: no policy allows it.
alter table account_secrets enable row level security;
alter table account_sessions enable row level security;
alter table sign_in_attempts enable row level security;
