-- compatible_from: 0001
-- concurrently
-- Values of each dimension, for selection lists: the next greater value is one lookup.
create index concurrently if not exists rollups_choices on rollups (tenant, project, kind, reason, agent_id, start)
    where grain = 'dimension day';

-- The few overruled verdicts of a window: without it, calibration and each counted hour read an index of the project.
create index concurrently if not exists feedbacks_overruled on feedbacks (tenant, project, occurred_at)
    where overruled_reaction is not null;
