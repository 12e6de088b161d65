-- name: lock_alerts
-- Processes evaluate alerts one at a time, so that each sees the alerts that the previous one opened.
select pg_advisory_xact_lock(hashtext('agent-feedback alerts'))

-- name: list_alert_rules
select rule from alert_rules
where tenant = :tenant and project = :project
order by name

-- name: set_alert_rule
insert into alert_rules (tenant, project, name, rule) values (:tenant, :project, :name, :rule)
on conflict (tenant, project, name) do update set rule = excluded.rule

-- name: set_rule_channels
update alert_rules
set rule = jsonb_set(rule::jsonb, '{channels}', to_jsonb(:channels::text[]))::text
where tenant = :tenant and project = :project and name = :name

-- name: delete_alert_rule
delete from alert_rules where tenant = :tenant and project = :project and name = :name

-- fragment: alert_columns
id, rule, kind, agent, version, issue, opened_at, over_at, title, path, channels, finding

-- name: list_alert_states
-- Return the open alert of each subject; if none is open, the last one.
select distinct on (rule, kind, agent, version, issue) {alert_columns}
from alerts where tenant = :tenant and project = :project
order by rule, kind, agent, version, issue, over_at desc nulls first

-- name: projects_with_alerts
-- Return the projects that have rules or open alerts.
select tenant, project from alert_rules union select tenant, project from alerts where over_at is null
order by tenant, project

-- name: open_alert
insert into alerts (id, tenant, project, rule, kind, agent, version, issue, opened_at, title, path, channels, finding)
values (:id, :tenant, :project, :rule, :kind, :agent, :version, :issue, :now, :title, :path, :channels, :finding)

-- name: end_alert
update alerts set over_at = :now where id = :id

-- name: list_alerts
select {alert_columns} from alerts
where tenant = :tenant and project = :project
order by over_at is not null, opened_at desc limit :limit

-- name: issue_facts
select id, agent_id, state = 'regressed' as is_regressed, state_at, first_at, turns, people from issues
where tenant = :tenant and project = :project and state in ('open', 'regressed') and merged_into is null and turns > 0

-- name: set_alert_channel
-- Insert nothing if the project already has the maximum number of channels.
insert into alert_channels (tenant, project, name, kind, url, secret, address, private)
select :tenant, :project, :name, :kind, :url, :secret, :address, :private
where (select count(*) from alert_channels where tenant = :tenant and project = :project and name <> :name) < :most
on conflict (tenant, project, name) do update set kind = excluded.kind, url = excluded.url,
    secret = excluded.secret, address = excluded.address, private = excluded.private

-- name: delete_alert_channel
delete from alert_channels where tenant = :tenant and project = :project and name = :name

-- name: list_alert_channels
select name, kind, url, secret, address, private from alert_channels
where tenant = :tenant and project = :project order by name

-- name: list_open_alerts
select tenant, project, rule, kind, agent, version, issue from alerts where over_at is null
order by opened_at, id limit :limit
