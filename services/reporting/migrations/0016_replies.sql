-- Which message a message answers, where the chat knows it: exports join an answer with its request by it.
alter table messages add column reply_to text;
create index messages_thread on messages (tenant, project, conversation_id, reply_to) where reply_to is not null;
