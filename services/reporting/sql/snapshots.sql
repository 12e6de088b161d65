-- name: server_snapshot
-- On a replica, the snapshot does not list the transactions that were uncommitted on the primary, so return a snapshot
-- that ends before the first of them. After a failover, the control file may contain an earlier timeline, which
-- invalidates the watermark.
select (select system_identifier from pg_control_system()) || '.' || case when pg_is_in_recovery()
        then (select upper(lpad(to_hex(timeline_id), 8, '0')) from pg_control_checkpoint())
        else left(pg_walfile_name(pg_current_wal_lsn()), 8) end || '/' ||
    case when pg_is_in_recovery() then format('%1$s:%1$s:', pg_snapshot_xmin(pg_current_snapshot()))
        else pg_current_snapshot()::text end

-- name: is_known_snapshot
select pg_snapshot_xmax(:seen::text::pg_snapshot) <= pg_snapshot_xmax(pg_current_snapshot())

-- fragment: is_unseen(row)
-- True if `row` is not visible in the snapshot :seen. The first condition uses an index.
({row}.written_by >= pg_snapshot_xmin(:seen::text::pg_snapshot)
    and not pg_visible_in_snapshot({row}.written_by, :seen::text::pg_snapshot))
