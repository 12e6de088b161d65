alter table feedbacks add column reviews text;
comment on column feedbacks.reviews is 'The machine''s verdict that a reviewer judges; null where people speak for themselves';

create or replace view effective as
select f.*
from feedbacks f
where f.reaction is not null and f.source <> 'review'
  and (f.origin = 'machine' or not exists (
    select from feedbacks newer
    where newer.slot = f.slot
      and (newer.feedback_type = 'explicit' or newer.reaction is not null)
      and (newer.occurred_at, newer.feedback_id) > (f.occurred_at, f.feedback_id)
  ));
comment on view effective is
    'The reactions that count: live, the newest of their slot (an explicit null is newest as well), and no reviewer''s.';

create view effective_or_review as
select f.*
from feedbacks f
where f.reaction is not null
  and (f.origin = 'machine' or f.source = 'review' or not exists (
    select from feedbacks newer
    where newer.slot = f.slot
      and (newer.feedback_type = 'explicit' or newer.reaction is not null)
      and (newer.occurred_at, newer.feedback_id) > (f.occurred_at, f.feedback_id)
  ));
comment on view effective_or_review is 'What counts, and what reviewers say of the machine''s verdicts.';
