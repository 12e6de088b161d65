-- name: unsecured_tables
select c.relname from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'tenant'
where c.relnamespace = :schema::regnamespace and c.relkind in ('r', 'p') and not c.relrowsecurity order by 1

-- name: unsecured_views
select relname from pg_class where relnamespace = :schema::regnamespace and relkind = 'v'
    and not coalesce(reloptions @> array['security_invoker=true'], false) order by 1
