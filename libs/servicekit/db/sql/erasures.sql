-- name: note_erasures
insert into erasures as e (tenant, user_id, request_id, erased_at)
select * from unnest(:tenant::text[], :user_id::text[], :request_id::text[], :erased_at::bigint[])
on conflict (tenant, user_id) do update set request_id = excluded.request_id, erased_at = excluded.erased_at
where (e.erased_at, e.request_id) < (excluded.erased_at, excluded.request_id)
returning tenant, user_id

-- name: note_training_choices
insert into training_choices as c (tenant, user_id, chosen_at, choice_id, training_allowed)
select * from unnest(:tenant::text[], :user_id::text[], :chosen_at::bigint[], :choice_id::text[], :training_allowed::boolean[])
on conflict (tenant, user_id) do update set
    choice_id = excluded.choice_id, chosen_at = excluded.chosen_at, training_allowed = excluded.training_allowed
where (c.chosen_at, c.choice_id) < (excluded.chosen_at, excluded.choice_id)
returning tenant, user_id

-- name: erased_at
select tenant, user_id, erased_at from erasures
join unnest(:tenant::text[], :user_id::text[]) as wanted (tenant, user_id) using (tenant, user_id)
