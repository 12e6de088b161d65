create table erasures (
    tenant text not null,
    user_id text not null,
    request_id text not null,
    erased_at bigint not null,
    primary key (tenant, user_id)
);
comment on table erasures is 'Who was erased, and up to when (microseconds): read before and after anything they said is kept';

alter table messages add column stored_at timestamptz not null default now();
create index messages_by_age on messages using brin (stored_at);
comment on column messages.stored_at is 'When the row was made: retention counts from here, so that old chats can be replayed';
