-- name: lock_functions
select pg_advisory_xact_lock(hashtext('agent-feedback functions'), hashtext(current_schema()))

-- name: find_functions
-- The functions of one entry of a statement file, latest first.
select proname as name, oid::regprocedure::text as signature from pg_proc
where pronamespace = current_schema()::regnamespace and proname ~ ('^' || :name || '_[0-9a-f]{12}$')
order by oid desc
