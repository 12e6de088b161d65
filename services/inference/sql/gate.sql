-- name: keep_answers
-- The rows are sorted, to avoid deadlocks. The update changes nothing: it returns an answer that was stored earlier.
insert into gate_answers as stored (digest, tenant, project, answer)
select * from unnest(:digest::bytea[], :tenant::text[], :project::text[], :answer::text[])
on conflict (digest) do update set answer = stored.answer
returning digest, answer

-- name: find_answers
select digest, answer from gate_answers where digest = any(:digests::bytea[])
