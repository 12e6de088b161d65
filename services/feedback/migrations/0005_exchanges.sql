-- compatible_from: 0001
-- The question of a turn and the thread of its answer, for judgements of the turn.
alter table turns
    add column user_message_id text,
    add column reply_to text,
    add column thread text;
comment on column turns.user_message_id is 'The first message of a person in the turn: its question';
comment on column turns.reply_to is 'The message that the answer was written as a reply to';
comment on column turns.thread is 'The thread that the answer stands in; null: the channel';
