-- A message's name is its id within its conversation: many chats count their messages per conversation. Ids lead, for
-- planners without statistics.
alter table messages drop constraint messages_pkey;
alter table messages add primary key (message_id, conversation_id, tenant, project);
alter table verdicts drop constraint verdicts_pkey;
alter table verdicts add primary key (message_id, conversation_id, tenant, project);

alter table messages
    add column version bytea,
    add column stood_at bigint[] not null default '{}',
    add column about text,
    add column user_type text;
update messages set version = '\x02'::bytea || int8send(said_at) || '\x00000000000000000000000000000000'::bytea,
    stood_at = case when said_at > at then array[said_at] else '{}' end;
alter table messages alter column version set not null;
alter table messages drop column said_at;
comment on column messages.version is 'Orders the versions of a message: what the greatest says is kept';
comment on column messages.stood_at is 'Where it stood before an earlier version came, the latest place first';
comment on column messages.about is 'What the platform says of how an agent''s message was made, JSON';

alter table turns add column user_version bytea, add column assistant_version bytea;
-- Orders so small are no times but counts of looks.
update turns set
    user_version = case when user_order >= 1000000000000
        then '\x02'::bytea || int8send(user_order) || '\x00000000000000000000000000000000'::bytea
        else '\x00'::bytea || int8send(user_order) end,
    assistant_version = '\x02'::bytea || int8send(assistant_said_at) || '\x00000000000000000000000000000000'::bytea;
alter table turns drop column user_order, drop column assistant_said_at;
comment on column turns.user_version is 'Of two questions the one with the greater version stands';
comment on column turns.assistant_version is 'Of two answers the one with the greater version stands';
