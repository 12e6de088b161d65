-- compatible_from: 0001
-- The tenant in the view's join, so that tables can be distributed by tenant.
create or replace view effective_or_suspect as
select f.*
from feedbacks f
where f.reaction is not null
  and (f.origin = 'machine'
    or f.origin = 'reviewer' and not exists (
        select from feedbacks newer
        where newer.conversation_id = f.conversation_id and newer.turn_id = f.turn_id and newer.origin = 'reviewer'
          and newer.tenant = f.tenant and newer.project = f.project and newer.reaction is not null
          and (newer.occurred_at, newer.feedback_id) > (f.occurred_at, f.feedback_id))
    or f.origin = 'user' and not exists (
        select from feedbacks newer
        where newer.slot = f.slot and newer.tenant = f.tenant
          and (newer.feedback_type = 'explicit' or newer.reaction is not null)
          and (newer.occurred_at, newer.feedback_id) > (f.occurred_at, f.feedback_id)));
