-- name: count_attempt
insert into attempts (subject, failures, since) values (:subject, 1, :now)
on conflict (subject) do update set
    failures = case when attempts.since <= :oldest then 1 else attempts.failures + 1 end,
    since = case when attempts.since <= :oldest then excluded.since else attempts.since end
returning failures, since
