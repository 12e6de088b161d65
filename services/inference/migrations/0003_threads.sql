-- compatible_from: 0001
alter table messages
    add column reply_to text,
    add column thread text not null default '',
    add column stood_in text[] not null default '{}';
-- A thread's id takes up to 1 KiB and would not fit beside two others: the index holds its hash.
create index messages_in_thread
    on messages (conversation_id, tenant, project, hashtextextended(thread, 0), at, message_id);
comment on column messages.reply_to is 'The message that it was written as a reply to';
comment on column messages.thread is 'The thread that it stands in; empty: the channel';
comment on column messages.stood_in is 'Threads it stood in before a version that names another arrived, latest first';
