-- compatible_from: 0001
-- Accounts of people who sign in with an identity provider.
alter table accounts add column issuer text;
alter table accounts add column subject text;
alter table accounts add constraint accounts_provider check ((issuer is null) = (subject is null));
create unique index accounts_of_subject on accounts (issuer, subject) where issuer is not null;
comment on table accounts is
    'Operators who sign in with a password or an identity provider. Times are in microseconds';
comment on column accounts.issuer is 'The identity provider; null for an account with a password';
comment on column accounts.subject is 'Id of the person at the identity provider';

alter table account_sessions add column expires_at bigint;
comment on column account_sessions.expires_at is
    'End of a session that began with the identity provider, in microseconds; null for one with a password';
