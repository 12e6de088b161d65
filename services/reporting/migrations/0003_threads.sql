-- compatible_from: 0001
alter table messages add column thread text not null default '';
-- A thread's id takes up to 1 KiB and would not fit beside the conversation's: the index holds its hash.
create index messages_of_thread
    on messages (conversation_id, tenant, project, hashtextextended(thread, 0), occurred_at, sequence);
comment on column messages.thread is 'The thread that it stands in; empty: the channel';
