-- name: note_erasures
insert into erasures as e (tenant, user_id, request_id, erased_at)
select * from unnest(:tenant::text[], :user_id::text[], :request_id::text[], :erased_at::bigint[])
on conflict (tenant, user_id) do update set request_id = excluded.request_id, erased_at = excluded.erased_at
where (e.erased_at, e.request_id) < (excluded.erased_at, excluded.request_id)
returning tenant, user_id

-- name: erased_at
select tenant, user_id, erased_at from erasures
join unnest(:tenant::text[], :user_id::text[]) as wanted (tenant, user_id) using (tenant, user_id)
