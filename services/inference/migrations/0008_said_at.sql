-- compatible_from: 0001
-- Generated, so that rows which the previous release writes have it as well. The layout is that of contracts/versions.py.
alter table messages add column said_at bigint not null
    generated always as (('x' || encode(substring(version from 2 for 8), 'hex'))::bit(64)::bigint) stored;
comment on column messages.said_at is 'Time of the version that is kept, in microseconds: a part of `version`';
