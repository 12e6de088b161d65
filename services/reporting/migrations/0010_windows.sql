-- A machine's record is the only one of its slot and always counts, so a figure of a window reads that window alone: with
-- the bare anti-join PostgreSQL read the whole table for it.
create or replace view effective as
select f.*
from feedbacks f
where f.reaction is not null
  and (f.origin = 'machine' or not exists (
    select from feedbacks newer
    where newer.slot = f.slot
      and (newer.feedback_type = 'explicit' or newer.reaction is not null)
      and (newer.occurred_at, newer.feedback_id) > (f.occurred_at, f.feedback_id)
  ));

create index feedbacks_version on feedbacks (tenant, project, agent_version, occurred_at desc)
    where reaction is not null and agent_version is not null;
create index feedbacks_correction_type on feedbacks (tenant, project, correction_type, occurred_at desc)
    where reaction is not null and correction_type is not null;
