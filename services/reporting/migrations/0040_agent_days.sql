-- compatible_from: 0001
-- concurrently
-- Daily counts of an agent: its page would otherwise read the counts of all agents.
create index concurrently if not exists rollups_agent_days on rollups (tenant, project, agent_id, grain, start)
    where grain in ('day', 'reason day', 'judgement day', 'dimension day');
