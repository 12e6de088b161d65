create table erasures (
    tenant text not null,
    user_id text not null,
    request_id text not null,
    erased_at bigint not null,
    primary key (tenant, user_id)
);
comment on table erasures is 'Who was erased, and up to when (microseconds): read before and after anything they said is kept';

create index messages_of_person on messages (sender_id, tenant) where role = 'human';
create index explicit_feedback_of_person on explicit_feedback (user_id, tenant);

alter table messages add column stored_at timestamptz not null default now();
alter table turns add column stored_at timestamptz not null default now();
alter table verdicts add column stored_at timestamptz not null default now();
create index messages_by_age on messages using brin (stored_at);
create index turns_by_age on turns using brin (stored_at);
create index verdicts_by_age on verdicts using brin (stored_at);
comment on column messages.stored_at is 'When the row was made: retention counts from here, so that old chats can be replayed';
