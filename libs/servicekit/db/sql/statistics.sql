-- name: unanalysed_tables
select format('%I.%I', n.nspname, c.relname) as name
from pg_class c join pg_namespace n on n.oid = c.relnamespace
where n.nspname = current_schema() and c.relkind = 'r' and c.reltuples < 0
  and pg_relation_size(c.oid) >= :least_bytes::bigint
order by name
