-- name: primary_position
select (pg_current_wal_lsn() - '0/0')::bigint as written, (select system_identifier from pg_control_system()) as cluster

-- name: replica_state
-- A server that accepts writes is not a replica; its replay position does not count.
select case when pg_is_in_recovery() then (pg_last_wal_replay_lsn() - '0/0')::bigint end as replayed,
    (select system_identifier from pg_control_system()) as cluster,
    exists (select from migrations where name = :newest) as is_migrated
