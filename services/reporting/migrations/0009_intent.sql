alter table feedbacks add column intent text;
-- A view's columns are fixed when it is made: this lets it show the added one.
create or replace view effective as
select f.*
from feedbacks f
where f.reaction is not null
  and not exists (
    select from feedbacks newer
    where newer.slot = f.slot
      and (newer.feedback_type = 'explicit' or newer.reaction is not null)
      and (newer.occurred_at, newer.feedback_id) > (f.occurred_at, f.feedback_id)
  );
