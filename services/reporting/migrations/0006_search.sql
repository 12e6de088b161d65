-- Feedbacks of one agent, and those that give a reason, newest first without a walk over all others.
create index feedbacks_agent on feedbacks (tenant, project, agent_id, occurred_at desc) where reaction is not null;
create index feedbacks_tags on feedbacks using gin (tags) where tags <> '{}';
