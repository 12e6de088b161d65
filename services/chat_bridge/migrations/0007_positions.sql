-- compatible_from: 0001
-- The position of each message's earliest version, and whether the message has text.
alter table messages
    add column has_text boolean not null default true,
    add column at bigint not null default 4611686018427387904,
    add column sequence bigint not null default -1,
    add column first_log_time bigint not null default 0,
    add column log_offset bigint not null default 0;
create index messages_of_thread on messages (conversation_id, coalesce(thread, ''), at desc, tenant, project)
    where sender_type <> 'agent' and has_text;
comment on column messages.has_text is 'False if the message is empty or deleted';
comment on column messages.at is 'Time of the earliest version in microseconds; 2^62 if only a copy is known';
