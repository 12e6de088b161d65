create table erasures (
    tenant text not null,
    user_id text not null,
    request_id text not null,
    erased_at bigint not null,
    primary key (tenant, user_id)
);
comment on table erasures is 'Who was erased, and up to when (microseconds): read before and after anything they said is kept';

-- The person first: an erasure looks through all projects of a tenant.
drop index messages_person;
create index messages_person on messages (sender_id, tenant, project) where sender_type = 'human';
