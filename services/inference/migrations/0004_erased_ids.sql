-- compatible_from: 0001
-- Of erased people no turn names who asked.
update turns t set user_id = null, user_text = null, user_vector = null, user_embedder = null
from messages m, erasures e
where m.tenant = e.tenant and m.sender_id = e.user_id and m.role = 'human'
  and substring(m.version from 2 for 8) <= int8send(e.erased_at + 300000000)
  and t.conversation_id = m.conversation_id and t.tenant = m.tenant and t.project = m.project
  and t.user_message_id = m.message_id and t.user_id = m.sender_id;
comment on column turns.user_id is 'Who asked; null after their erasure';
