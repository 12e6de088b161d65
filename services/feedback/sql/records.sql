-- name: load_records
select {record_columns} from feedback where feedback_id = any(:feedback_ids)

-- function: find_changes returns table (known uuid, {record_typed}, entry_tenant text, entry_user text, erased_at bigint, entry_allowed boolean)
-- Rows with `known` are records with another revision than the known one. The other rows are verdicts and reviews on the
-- turns and on those of known verdicts, and the people's entries in the erasure ledger.
begin
    if cardinality(:known_id::uuid[]) > 0 then
        return query
        select k.known_id, {record_of(stored)}, null::text, null::text, null::bigint, null::boolean
        from unnest(:known_id::uuid[], :known_revision::bigint[]) as k (known_id, known_revision)
        left join lateral (select * from feedback f where f.feedback_id = k.known_id offset 0) stored on true
        where coalesce(stored.revision, 0) <> k.known_revision;
    end if;
    if cardinality(:turn_tenant::text[]) > 0 or cardinality(:known_id) > 0 then
        return query
        -- The turn is in the payload of the only slot. The index `feedback_on_turn` has this expression. A subquery with an
        -- offset is planned by itself: a join that is planned while the table is empty would read the whole table for ever.
        select null::uuid, {record_of(stored)}, null::text, null::text, null::bigint, null::boolean
        from (
            select * from unnest(:turn_tenant::text[], :turn_project::text[], :turn_conversation::text[], :turn_id::text[])
            union
            select f.tenant, f.project, f.conversation_id, f.slots -> '' -> 'payload' ->> 'turn_id'
            from unnest(:known_id) id cross join lateral (
                select * from feedback where feedback_id = id and source = 'inference' offset 0) f
        ) t (of_tenant, of_project, of_conversation, of_turn)
        cross join lateral (
            select * from feedback f where f.conversation_id = of_conversation
                and f.slots -> '' -> 'payload' ->> 'turn_id' = of_turn
                and f.tenant = of_tenant and f.project = of_project and f.source in ('inference', {review}) offset 0
        ) stored;
    end if;
    if cardinality(:person_id::text[]) > 0 then
        return query
        select null::uuid, {record_nulls}, of_tenant, of_user, e.erased_at, coalesce(c.training_allowed, true)
        from unnest(:person_tenant::text[], :person_id::text[]) as person (of_tenant, of_user)
        left join erasures e on e.tenant = of_tenant and e.user_id = of_user
        left join training_choices c on c.tenant = of_tenant and c.user_id = of_user
        where e.erased_at is not null or c.training_allowed is not null;
    end if;
end

-- name: scan_records
select {record_columns} from feedback where feedback_id > :after and slots is not null
order by feedback_id limit :limit

-- name: scan_records_of_person
select {record_columns} from feedback where tenant = :tenant and user_id = :user_id and feedback_id > :after
order by feedback_id limit :limit

-- function: save_records returns table (feedback_id uuid, tenant text, user_id text, erased_at bigint, training_allowed boolean)
-- Returns the written records. If entries of the erasure ledger differ from the known ones, nothing is written, and these
-- entries are returned. A concurrent entry waits for the end of the transaction and then finds its records.
begin
    if cardinality(:person_id::text[]) > 0 then
        lock table erasures, training_choices in share mode;
        return query
        select null::uuid, of_tenant, of_user, e.erased_at, coalesce(c.training_allowed, true)
        from unnest(:person_tenant::text[], :person_id::text[], :known_erased_at::bigint[], :known_allowed::boolean[])
            as person (of_tenant, of_user, known_at, allowed)
        left join erasures e on e.tenant = of_tenant and e.user_id = of_user
        left join training_choices c on c.tenant = of_tenant and c.user_id = of_user
        where e.erased_at is distinct from known_at or coalesce(c.training_allowed, true) <> allowed;
        if found then
            return;
        end if;
    end if;
    return query
    with given as (
        select * from unnest({record_arrays}, :loaded_revision::bigint[]) as record ({record_columns}, loaded_revision)
    ), updated as (
        update feedback stored set slots = given.slots, revision = given.revision,
            created_revision = given.created_revision, overruled_by = given.overruled_by, origin = given.origin,
            training_allowed = given.training_allowed
        from given
        where stored.feedback_id = given.feedback_id and stored.revision = given.loaded_revision
            and given.loaded_revision > 0
        returning stored.feedback_id
    ), inserted as (
        insert into feedback as stored ({record_columns})
        select {record_columns} from given where loaded_revision = 0 order by given.feedback_id
        on conflict do nothing
        returning stored.feedback_id
    )
    select w.feedback_id, null::text, null::text, null::bigint, null::boolean
    from (select * from updated union all select * from inserted) w;
end

-- name: count_records
select feedback_type, count(*) from feedback where slots is not null group by feedback_type
