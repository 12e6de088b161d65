create table erasure_requests (
    tenant text not null,
    request_id text not null,
    user_id text not null,
    requested_at bigint not null,
    primary key (request_id, tenant)
);
comment on table erasure_requests is 'Each request to erase a person, as it stands in the log; requested_at in microseconds';

create table erasure_receipts (
    tenant text not null,
    request_id text not null,
    service text not null,
    removed bigint not null,
    confirmed_at bigint not null,
    primary key (request_id, tenant, service)
);
comment on table erasure_receipts is 'Which service has carried a request out, when (microseconds), and how many rows it changed';

alter table turns add column stored_at timestamptz not null default now();
create index turns_by_age on turns using brin (stored_at);
comment on column turns.stored_at is 'When the row was made: retention counts from here, so that old chats can be replayed';
