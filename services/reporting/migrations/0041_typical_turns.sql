-- compatible_from: 0001
-- concurrently
-- Most typical turn of each listed issue.
create index concurrently if not exists issue_turns_typical
    on issue_turns (issue_id, nearness desc nulls last, occurred_at desc);
