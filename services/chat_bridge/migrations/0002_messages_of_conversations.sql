-- A message's name is its id within its conversation: many chats count their messages per conversation.
alter table messages drop constraint messages_pkey;
alter table messages add primary key (message_id, conversation_id, tenant, project);

alter table messages add column version bytea;
update messages set version = '\x02'::bytea || int8send(occurred_at) || '\x00000000000000000000000000000000'::bytea;
alter table messages alter column version set not null;
alter table messages drop column occurred_at;
comment on column messages.version is 'Orders the versions of a message: the greatest is kept';

alter table parked add column conversation_id text;
update parked set conversation_id = coalesce(convert_from(value, 'UTF8')::json ->> 'conversationId',
                                             convert_from(value, 'UTF8')::json ->> 'conversation_id');
alter table parked alter column conversation_id set not null;
drop index parked_by_original;
create index parked_by_original on parked (original_message_id, conversation_id, tenant, project);
