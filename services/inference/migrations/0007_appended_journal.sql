-- compatible_from: 0001
-- Rows are appended by copy, which looks for no other row of the same record: a reader takes the latest. A chat record
-- is its own cause and needs no entry of it.
alter table journal drop constraint journal_pkey, alter column cause drop not null;
drop index journal_of_message;
drop index journal_of_cause;
create index journal_of_event on journal (event_id);
create index journal_of_message on journal (message_id);
create index journal_of_cause on journal (cause) where cause is not null;
comment on column journal.cause is 'The coordinates of the chat record that it derives from; null if it is one itself';
