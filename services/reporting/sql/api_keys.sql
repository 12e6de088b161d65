-- name: add_api_key
-- Return nothing if the tenant or the platform has the name, or the platform wants a name that a tenant has.
insert into api_keys (id, name, key_hash, tenant, projects, scopes, created_at, created_by, expires_at)
select :id, :name, :key_hash, :tenant, :projects, :scopes, :now, :by, :expires_at
where not exists (select from api_keys k where k.name = :name and (k.tenant = '*' or :tenant in ('*', k.tenant)))
on conflict (tenant, name) do nothing returning id

-- name: renew_api_key
-- Replace the secret of a key that gives no more than :scopes, of one tenant and of these projects unless they are null.
update api_keys set key_hash = :key_hash, expires_at = :expires_at
where id = :id and scopes <@ :scopes and (:tenant::text is null or tenant = :tenant)
    and (:projects::text[] is null or projects <@ :projects)
returning name, tenant

-- name: count_api_keys
select count(*) from api_keys where tenant = :tenant and key_hash is not null

-- name: list_api_keys
-- List keys of one tenant, and of these projects unless :projects is null.
select id, name, array(select tenant || '/' || project from unnest(projects) project) as projects, scopes, expires_at,
    used_at, key_hash is null as is_revoked
from api_keys
where (:tenant::text is null or tenant = :tenant) and (:projects::text[] is null or projects <@ :projects)
order by key_hash is null, name, tenant limit :limit

-- name: revoke_api_key
update api_keys set key_hash = null where id = :id and (:tenant::text is null or tenant = :tenant)
    and (:projects::text[] is null or projects <@ :projects)
returning name, tenant

-- name: use_api_key
-- Return a key that has not expired, and note its last use to the minute.
with noted as (
    update api_keys set used_at = :now
    where key_hash = :key_hash and expires_at > :now and (used_at is null or used_at <= :before)
)
select name, tenant, projects, scopes from api_keys where key_hash = :key_hash and expires_at > :now
