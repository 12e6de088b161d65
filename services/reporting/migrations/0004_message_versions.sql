-- Whose conversation a message belongs to is part of its name: many chats count their messages per conversation.
alter table messages drop constraint messages_pkey;
alter table messages add primary key (message_id, conversation_id, tenant, project);

alter table messages add column version bytea;
update messages set version = '\x02'::bytea || int8send(occurred_at)
    || case when sequence < 9223372036854775807 then int8send(sequence + 1) else '\x8000000000000000'::bytea end
    || '\x0000000000000000'::bytea;
alter table messages alter column version set not null;
comment on column messages.version is 'Orders the versions of a message: the greatest is kept';
comment on column messages.occurred_at is 'Where the message stands: the time of its earliest version, microseconds';
