-- compatible_from: 0001
-- concurrently
-- Verdicts with a tag of a person or a correction type, a fifth of all: their reasons are counted from the rows if the
-- filters are not in the roll-ups.
create index concurrently if not exists feedbacks_reasons on feedbacks (tenant, project, occurred_at desc)
    where reaction is not null and (correction_type is not null or origin <> 'machine' and tags <> '{}');
-- An agent's rejections: its page lists the newest ones and the conversations with most.
create index concurrently if not exists feedbacks_agent_rejected on feedbacks (tenant, project, agent_id, occurred_at desc)
    where reaction = 'not_ok';
