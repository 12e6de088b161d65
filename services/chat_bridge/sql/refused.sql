-- name: note_refused
insert into refused as r (tenant, project, topic, event_id, reason, detail, times, refused_at)
select *, :refused_at from unnest(:tenant::text[], :project::text[], :topic::text[], :event_id::text[], :reason::text[],
    :detail::text[], :times::bigint[])
on conflict (event_id, topic, reason, detail, project, tenant)
    do update set times = r.times + excluded.times, refused_at = greatest(r.refused_at, excluded.refused_at)

-- name: delete_oldest_refused
delete from refused where ctid = any(array(
    select ctid from refused where tenant = :tenant order by refused_at desc offset :kept))

-- name: refused_since
select topic, event_id, reason, detail, times, refused_at from refused
where tenant = :tenant and project = :project and refused_at >= :moment
order by refused_at desc, topic, event_id, reason, detail limit :limit
