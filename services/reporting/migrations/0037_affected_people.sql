-- compatible_from: 0001
alter table issues
    add column verdict_people integer not null default 0,
    add column affected integer not null default 0,
    add column affected_due boolean not null default true;
comment on column issues.verdict_people is 'Number of people with one of the agent''s newest verdicts, at the last count';
comment on column issues.affected is 'Number of these people with a rejection of a turn of the issue among these verdicts';
comment on column issues.affected_due is 'True until the people are counted after a change of the issue''s turns';
