-- name: lock_server
lock table database_server in exclusive mode

-- name: is_same_server
select system_identifier = (select system_identifier from pg_control_system()) from database_server

-- fragment: of_other_server
set written_by = '0' where written_by >= pg_snapshot_xmax(pg_current_snapshot())

-- name: adopt_rows
with feedback as (update feedbacks {of_other_server}) update stale_hours {of_other_server}

-- name: delete_server
delete from database_server

-- name: insert_server
insert into database_server select system_identifier from pg_control_system()

-- fragment: feedback_replaced
{feedback_set}, written_by = pg_current_xact_id()

-- fragment: is_later
excluded.version > held.version

-- fragment: is_earlier
({position_of(excluded)}) < ({position_of(held)})

-- fragment: is_same_text
-- A reply event has fewer fields than a message event, and its text says nothing about a message event's text.
excluded.content = held.content and {is_same_source}

-- fragment: is_same_source
substring(excluded.version for 1) = substring(held.version for 1)

-- fragment: text_changed_at
-- Time of the latest version, of the stored ones and the new ones, that is from the later row's kind of event and has
-- another text.
case
    when {is_same_text} then greatest(excluded.other_text_at, held.other_text_at)
    when {is_later} then greatest(excluded.other_text_at, case when {is_same_source} then held.said_at end)
    else greatest(held.other_text_at, case when {is_same_source} then {said_at(excluded)} end)
end

-- fragment: said_at(row)
('x' || encode(substring({row}.version from 2 for 8), 'hex'))::bit(64)::bigint

-- fragment: text_stands_since
-- If no time is left, an earlier version that repeats the text may have been forgotten.
coalesce((
    select min(since) from (values
        (excluded.text_since, {is_later} or {is_same_text}),
        (held.text_since, not {is_later} or {is_same_text})
    ) as times (since, is_of_text)
    where is_of_text and since > coalesce({text_changed_at}, -1)
), case when {is_later} then {said_at(excluded)} else held.said_at end)

-- function: apply_batch returns table (message_key text[], record_id uuid, revision bigint)
-- Return the keys of added or changed messages, the ids and revisions of the feedback records that were stored before,
-- and the ids of added session ratings, without a revision.
declare
    changed messages[];
begin
    {nobody_erased};
    {lock_conversations(:changed_conversations::text[], :judged_conversations::text[])};
    if cardinality(:tenant::text[]) > 0 then
        with written as (
            insert into messages as held ({key_columns}, {said_columns}, {text_columns}, {position_columns})
            select * from unnest({key_arrays}, {said_arrays}, {text_arrays}, {position_arrays})
            on conflict ({key_columns}) do update set
                text_since = {text_stands_since}, other_text_at = {text_changed_at},
                {said_set_if(is_later, held)},
                {position_set_if(is_earlier, held)}
            where {is_later} or {is_earlier}
                or (held.text_since, held.other_text_at) is distinct from ({text_stands_since}, {text_changed_at})
            returning held
        )
        select array_agg(held) into changed from written;
        if changed is not null then
            perform settle_answers(changed);
            return query select array[{key_of(m)}], null::uuid, null::bigint from unnest(changed) m;
        end if;
    end if;
    if cardinality(:feedback_feedback_id::uuid[]) > 0 then
        return query
        select null::text[], f.feedback_id, f.revision
        from (select distinct unnest(:feedback_feedback_id::uuid[]) as id order by id) k
        cross join lateral (select * from feedbacks where feedback_id = k.id offset 0 for update) f;
        insert into feedbacks as held ({feedback_columns})
        select {judgement_given(new)}, {copies}
        from unnest({feedback_arrays_as(feedback)}) as new ({feedback_columns}) cross join {with_answer(new)}
        where not exists (select from forgotten f where f.feedback_id = new.feedback_id and f.revision >= new.revision)
        on conflict (feedback_id) do update set {feedback_replaced} where held.revision < excluded.revision;
    end if;
    if cardinality(:gone_id::uuid[]) > 0 then
        with gone as (
            select feedback_id, max(revision) as revision
            from unnest(:gone_id::uuid[], :gone_revision::bigint[]) as g (feedback_id, revision)
            group by feedback_id
        ), noted as (
            insert into forgotten as f (feedback_id, revision) select * from gone order by feedback_id
            on conflict (feedback_id) do update set revision = greatest(f.revision, excluded.revision)
        )
        delete from feedbacks held using gone
        where held.feedback_id = gone.feedback_id and held.revision <= gone.revision;
    end if;
    if cardinality(:session_tenant::text[]) > 0 then
        return query
        insert into sessions as s (tenant, id, recorded_at, label, turns)
        select distinct on (new.tenant, new.id) new.*
        from unnest(:session_tenant::text[], :session_id::uuid[], :session_recorded_at::bigint[],
            :session_label::text[], :session_turns::integer[]) as new (tenant, id, recorded_at, label, turns)
        order by new.tenant, new.id, new.recorded_at desc
        on conflict on constraint sessions_pkey do update set recorded_at = excluded.recorded_at,
            label = excluded.label, turns = excluded.turns
        where excluded.recorded_at > s.recorded_at
        returning null::text[], s.id, null::bigint;
    end if;
end

-- name: has_feedback
select exists (select from feedbacks)
