-- compatible_from: 0001
-- Alerts about issues: an agent may have one open alert of a rule for each of its issues.
alter table alerts add column issue bigint;
comment on column alerts.issue is 'The issue that the alert is about; null: the agent, its version, the project or the platform';
drop index alerts_open;
create unique index alerts_open on alerts
    (coalesce(tenant, ''), coalesce(project, ''), rule, kind, coalesce(agent, ''), coalesce(version, ''), coalesce(issue, 0))
    where over_at is null;
