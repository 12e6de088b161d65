-- name: lock_views
select pg_advisory_xact_lock(hashtextextended('agent-feedback views ' || :tenant::text || ' ' || :project::text, 0))

-- name: save_view
-- Insert nothing if the name is taken, or if the project already has the maximum number of views.
insert into saved_views (tenant, project, name, page, query, created_at, created_by)
select :tenant, :project, :name, :page, :query, :now, :by
where (select count(*) from saved_views where tenant = :tenant and project = :project) < :most
on conflict do nothing

-- name: list_views
select id, name, page, query, created_at, created_by from saved_views
where tenant = :tenant and project = :project order by lower(name), id limit :limit

-- name: rename_view
-- Update nothing if the name is taken.
update saved_views v set name = :name
where v.id = :id and v.tenant = :tenant and v.project = :project and not exists (
    select from saved_views o where o.tenant = :tenant and o.project = :project and o.name = :name and o.id <> v.id)

-- name: delete_view
delete from saved_views where id = :id and tenant = :tenant and project = :project
