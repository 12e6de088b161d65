-- fragment: is_later_answer
(excluded.answer_version is not null and (t.answer_version is null
    or (excluded.answer_version, excluded.agent_message_id) > (t.answer_version, t.agent_message_id)))

-- fragment: is_earlier_question
(excluded.user_at is not null and (t.user_at is null
    or (excluded.user_at, excluded.user_id) < (t.user_at, t.user_id)))

-- function: upsert_turns returns table (tenant text, project text, conversation_id text, turn_id text)
-- Returns the keys of added or changed turns.
begin
    {nobody_erased};
    if cardinality(:person_id::text[]) > 0 then
        insert into people as p (tenant, project, user_id, user_type, version)
        select * from unnest(:person_tenant::text[], :person_project::text[], :person_id::text[], :user_type::text[],
            :role_version::bytea[])
        on conflict (user_id, tenant, project) do update set user_type = excluded.user_type,
            version = excluded.version, stored_at = now()
        where excluded.version > p.version;
    end if;
    return query
    insert into turns as t (tenant, project, conversation_id, turn_id, {answer_columns}, {asker_columns})
    select * from unnest(:tenant::text[], :project::text[], :conversation_id::text[], :turn_id::text[],
        {answer_arrays}, {asker_arrays})
    on conflict (tenant, project, conversation_id, turn_id) do update set
        {answer_set_if(is_later_answer, t)},
        {asker_set_if(is_earlier_question, t)}
    where {is_later_answer} or {is_earlier_question}
    returning t.tenant, t.project, t.conversation_id, t.turn_id;
end

-- name: find_turns
-- Looks up each key separately. Under row-level security, a join may read all rows of the tenant.
select t.*, p.user_type, e.erased_at
from unnest(:tenant::text[], :project::text[], :conversation_id::text[], :turn_id::text[], :user_id::text[])
    with ordinality as wanted (tenant, project, conversation_id, turn_id, user_id, n)
left join lateral (
    select * from turns t where t.tenant = wanted.tenant and t.project = wanted.project
        and t.conversation_id = wanted.conversation_id and t.turn_id = wanted.turn_id limit 1) t on true
left join lateral (
    select user_type from people p
    where p.user_id = wanted.user_id and p.tenant = wanted.tenant and p.project = wanted.project limit 1) p on true
left join lateral (
    select erased_at from erasures e where e.tenant = wanted.tenant and e.user_id = wanted.user_id limit 1) e on true
order by wanted.n

-- name: count_turns
select count(*) from turns where tenant = :tenant and conversation_id = :conversation_id

-- name: count_turns_of_project
select count(*) from turns where tenant = :tenant and conversation_id = :conversation_id and project = :project

-- name: turns_are_of_others
select coalesce(bool_and(user_id is not null and user_id <> :user_id), false) from turns
where tenant = :tenant and conversation_id = :conversation_id

-- name: only_tenants_of_conversations
-- The only tenant of each conversation; null if several tenants have turns of it, or none has.
select owner.tenant
from unnest(:conversation_ids::text[]) with ordinality as wanted (conversation_id, n)
cross join lateral (
    select case when min(tenant) = max(tenant) then min(tenant) end as tenant
    from turns where conversation_id = wanted.conversation_id
) owner
order by wanted.n
