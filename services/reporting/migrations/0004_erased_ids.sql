-- compatible_from: 0001
-- Of erased people no message names the sender.
update messages m set content = '', sender_id = ''
from erasures e
where m.tenant = e.tenant and m.sender_id = e.user_id and m.sender_type = 'human'
  and substring(m.version from 2 for 8) <= int8send(e.erased_at + 300000000);
comment on column messages.sender_id is 'Empty for an erased person';
