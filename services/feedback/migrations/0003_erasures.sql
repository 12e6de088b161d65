create table erasures (
    tenant text not null,
    user_id text not null,
    request_id text not null,
    erased_at bigint not null,
    primary key (tenant, user_id)
);
comment on table erasures is 'Who was forgotten, and up to when (microseconds): read before anything they said is kept or announced';

create index feedback_by_person on feedback (tenant, user_id, feedback_id);
drop index feedback_by_user;

-- feedback_id is made of exactly these columns, so its own key holds them unique; together, ids of the allowed lengths
-- are longer than an index entry may be.
alter table feedback drop constraint feedback_tenant_project_conversation_id_source_user_id_agen_key;
