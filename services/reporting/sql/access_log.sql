-- name: note_access
insert into access_log (at, tenant, project, actor, action, about)
values (:now, :tenant, :project, :actor, :action, :about)
on conflict do nothing

-- name: newest_access
select at, tenant, project, actor, action, about from access_log
where (:tenant::text is null or tenant = :tenant) and (:projects::text[] is null or project = any(:projects))
order by at desc, id desc limit :limit
