-- name: keep_answers
insert into gate_answers (digest, tenant, project, answer)
select * from unnest(:digest::bytea[], :tenant::text[], :project::text[], :answer::text[])
on conflict (digest) do nothing

-- name: known_answers
select digest, answer from gate_answers where digest = any(:digests::bytea[])
