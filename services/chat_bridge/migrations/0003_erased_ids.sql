-- compatible_from: 0001
-- People's ids are not kept. 0.1.0 wrote them: an erasure finds those that are left.
create index messages_naming_people on messages (sender_id, tenant) where sender_type = 'human' and sender_id <> '';
update messages m set sender_id = '' from erasures e
where m.sender_type = 'human' and m.tenant = e.tenant and m.sender_id = e.user_id;
comment on column messages.sender_id is 'The agent''s id; empty for a person';
