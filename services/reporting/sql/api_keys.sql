-- name: add_api_key
insert into api_keys (id, name, key_hash, tenant, projects, scopes, created_at, created_by, expires_at)
values (:id, :name, :key_hash, :tenant, :projects, :scopes, :now, :by, :expires_at)

-- name: count_api_keys
select count(*) from api_keys where tenant = :tenant

-- name: list_api_keys
-- List keys of one tenant, and of these projects unless :projects is null.
select id, name, tenant, projects, scopes, created_at, created_by, expires_at, used_at from api_keys
where (:tenant::text is null or tenant = :tenant) and (:projects::text[] is null or projects <@ :projects)
order by name, created_at limit :limit

-- name: revoke_api_key
delete from api_keys where id = :id and (:tenant::text is null or tenant = :tenant)
    and (:projects::text[] is null or projects <@ :projects)
returning name, tenant

-- name: find_api_key
select id, tenant, projects, scopes, expires_at from api_keys where key_hash = :key_hash and expires_at > :now

-- name: note_api_key_use
update api_keys set used_at = :now where id = :id and (used_at is null or used_at <= :before)
