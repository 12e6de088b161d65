-- compatible_from: 0001
-- What an answer replies to and its thread; the question of a turn is found by the turn.
alter table messages
    add column reply_to text,
    add column thread text;
create index messages_of_turn on messages (turn_id, conversation_id, tenant, project) where sender_type <> 'agent';
comment on column messages.reply_to is 'The message that it was written as a reply to';
comment on column messages.thread is 'The thread that it stands in; null: the channel';
