-- fragment: lock_conversations(keys)
-- Advisory locks until the end of the transaction, sorted to avoid deadlocks.
perform pg_advisory_xact_lock(hashtext('inference turns'), number) from (
    select distinct hashtext(concat_ws('/', tenant, project, conversation_id)) as number from ({keys}) key order by 1
) locks

-- fragment: conversations_given
select * from unnest(:tenant::text[], :project::text[], :conversation_id::text[]) g (tenant, project, conversation_id)

-- fragment: conversations_judged
{conversations_given} union select * from unnest(:judged_tenant::text[], :judged_project::text[],
    :judged_conversation_id::text[])

-- fragment: replaces(version, message, text, vector)
-- A repeated message replaces a vector of another embedder. If there is no question, message and text are null.
(excluded.{version} is not null
    and (excluded.{version}, coalesce(excluded.{message}, '') collate "C", coalesce(excluded.{text}, '') collate "C")
        >= (coalesce(t.{version}, ''), coalesce(t.{message}, '') collate "C", coalesce(t.{text}, '') collate "C")
    and (excluded.{version}, excluded.{message}, excluded.{text}, excluded.{vector})
        is distinct from (t.{version}, t.{message}, t.{text}, t.{vector}))

-- fragment: has_question
{replaces(user_version, user_message_id, user_text, user_vector)}

-- fragment: has_answer
{replaces(assistant_version, agent_message_id, assistant_text, assistant_vector)}

-- fragment: facts_given
unnest(:tenant::text[], :project::text[], :conversation_id::text[], :turn_id::text[], :at::bigint[], {question_arrays},
    {answer_arrays}) as k (tenant, project, conversation_id, turn_id, at, {question_columns}, {answer_columns})

-- fragment: shows_deleted(message, text)
-- The deletion may name another turn, or none, so the words would stay in the turn that the message has left.
t.{text} <> '' and t.{message} = item.{message}
    and (t.tenant, t.project, t.conversation_id) = (item.tenant, item.project, item.conversation_id)
    and exists (select from messages m where m.message_id = t.{message} and {is_in_conversation(t)} and m.text = '')

-- function: take_turns returns table ({key_typed}, {previous_typed})
-- Merges facts, then verdicts. Returns the previous verdict on each judged message, and the turn for which a verdict on
-- it was last announced.
declare
    earlier verdicts[];
    item record;
begin
    {nobody_erased};
    lock table erasures in share mode;  -- a concurrent erasure waits, and then finds the rows
    {lock_conversations(conversations_judged)};
    insert into turns as t (tenant, project, conversation_id, turn_id, at, {question_columns}, {answer_columns})
    select k.tenant, k.project, k.conversation_id, k.turn_id, k.at, {question_of(k)}, {answer_of(k)} from {facts_given}
    on conflict (conversation_id, turn_id, tenant, project) do update set
        at = least(t.at, excluded.at),
        {question_set_if(has_question, t)},
        {answer_set_if(has_answer, t)}
    where {has_question} or {has_answer} or excluded.at < t.at or (t.at is null and excluded.at is not null);
    -- An earlier message may have been read before the erasure of its writer, whom nothing guards.
    for item in select k.*, e.erased_at from {facts_given} join erasures e using (tenant, user_id) loop
        update turns t set user_id = null, user_text = null, user_vector = null
        where t.turn_id = item.turn_id and t.user_id = item.user_id
            and (t.tenant, t.project, t.conversation_id) = (item.tenant, item.project, item.conversation_id)
            and item.erased_at + {erasure_margin} >= coalesce((select m.said_at from messages m
                where m.message_id = t.user_message_id and {is_in_conversation(t)}), t.at, 0);
    end loop;
    for item in select k.* from {facts_given} where '' in (k.user_text, k.assistant_text) loop
        update turns t set user_text = '', user_vector = null, user_version = greatest(t.user_version, item.user_version)
        where {shows_deleted(user_message_id, user_text)};
        update turns t set assistant_text = '', assistant_vector = null,
            assistant_version = greatest(t.assistant_version, item.assistant_version)
        where {shows_deleted(agent_message_id, assistant_text)};
    end loop;
    if cardinality(:judged_tenant::text[]) = 0 then
        return;
    end if;
    -- In the order of the judged messages.
    select array_agg(before.v order by n) into earlier
    from unnest({key_arrays_as(judged)}) with ordinality as k ({key_columns}, n)
    left join lateral (
        select v from verdicts v where v.message_id = k.message_id and v.conversation_id = k.conversation_id
            and v.tenant = k.tenant and v.project = k.project offset 0
    ) before on true;
    insert into verdicts as v ({key_columns}, {verdict_columns})
    select * from unnest({key_arrays_as(judged)}, {verdict_arrays_as(judged)}) as k ({key_columns}, {verdict_columns})
    on conflict ({key_columns}) do update set {verdict_set}
    where (excluded.release, excluded.mode, excluded.evaluation) >= (v.release, v.mode, v.evaluation);
    -- A later judgement reads what was announced, to retract it. An erased sender's feedback is gone already.
    for item in select {key_of(k)}, k.turn_id, k.agent_id, k.sender_id
        from unnest({key_arrays_as(judged)}, {verdict_arrays_as(judged)}, {emission_arrays_as(judged)})
            as k ({key_columns}, {verdict_columns}, {emission_columns})
        where k.announced loop
        update messages m set emitted_turn_id = item.turn_id, emitted_agent_id = item.agent_id
        where m.message_id = item.message_id and {is_in_conversation(item)} and m.sender_id = item.sender_id
            and (m.emitted_turn_id, m.emitted_agent_id) is distinct from (item.turn_id, item.agent_id);
    end loop;
    return query
    select {key_of(k)}, earlier[k.n].release, earlier[k.n].mode, earlier[k.n].digest,
        earlier[k.n].evaluation, earlier[k.n].announced, m.emitted_turn_id, m.emitted_agent_id
    from unnest({key_arrays_as(judged)}) with ordinality as k ({key_columns}, n)
    left join {message_of(k)} on true;
    insert into turns as t (tenant, project, conversation_id, turn_id, machine_status, machine_confidence,
        machine_detected_in, machine_message_id)
    select given.*, shown.status, shown.confidence, shown.detected_in_turn_id, shown.message_id
    from (
        select v.tenant, v.project, v.conversation_id, v.turn_id from unnest(earlier) v where v.turn_id is not null
        union
        select k.tenant, k.project, k.conversation_id, k.turn_id
        from unnest({key_arrays_as(judged)}, {verdict_arrays_as(judged)}) as k ({key_columns}, {verdict_columns})
    ) given
    left join lateral (
        select * from verdicts v
        where (v.tenant, v.project, v.conversation_id, v.turn_id)
            = (given.tenant, given.project, given.conversation_id, given.turn_id)
        order by v.announced desc, v.at desc, v.message_id desc limit 1
    ) shown on true
    where given.turn_id is not null order by 1, 2, 3, 4
    on conflict (conversation_id, turn_id, tenant, project) do update set machine_status = excluded.machine_status,
        machine_confidence = excluded.machine_confidence, machine_detected_in = excluded.machine_detected_in,
        machine_message_id = excluded.machine_message_id
    where (t.machine_status, t.machine_confidence, t.machine_detected_in, t.machine_message_id) is distinct from
        (excluded.machine_status, excluded.machine_confidence, excluded.machine_detected_in, excluded.machine_message_id);
end

-- fragment: conversations_of_reactions
{conversations_given} union
select tenant, project, conversation_id from user_reactions where feedback_id = any(:erased_id::uuid[])

-- function: take_reactions returns setof uuid
-- Deletes erased reactions, writes others, and sets the status of their turns: that of the latest effective reaction of
-- a person, otherwise that of the effective review. Returns the ids of the written reactions.
declare
    earlier user_reactions[];
begin
    {lock_conversations(conversations_of_reactions)};
    with erased as (
        delete from user_reactions f using unnest(:erased_id::uuid[], :erased_revision::bigint[]) as e (feedback_id, revision)
        where f.feedback_id = e.feedback_id and f.revision <= e.revision returning f.*
    )
    select array_agg(erased) into earlier from erased;
    select earlier || array_agg(f) into earlier from user_reactions f where f.feedback_id = any(:feedback_id::uuid[]);
    return query
    insert into user_reactions as f (tenant, project, conversation_id, turn_id, feedback_id, user_id, explicit, reviewer,
        status, said, tags, correction, at, revision)
    select r.tenant, r.project, r.conversation_id, r.turn_id, r.feedback_id, r.user_id, r.explicit, r.reviewer, r.status,
        r.said, array(select jsonb_array_elements_text(r.tags::jsonb)), r.correction, r.at, r.revision
    from unnest(:tenant::text[], :project::text[], :conversation_id::text[], :turn_id::text[], :feedback_id::uuid[],
        :user_id::text[], :explicit::boolean[], :reviewer::boolean[], :status::text[], :said::text[], :tags::text[],
        :correction::text[], :at::bigint[], :revision::bigint[])
        r (tenant, project, conversation_id, turn_id, feedback_id, user_id, explicit, reviewer, status, said, tags,
           correction, at, revision)
    on conflict (feedback_id) do update set turn_id = excluded.turn_id, status = excluded.status, said = excluded.said,
        tags = excluded.tags, correction = excluded.correction, at = excluded.at, revision = excluded.revision
    where excluded.revision > f.revision
    returning f.feedback_id;
    insert into turns (tenant, project, conversation_id, turn_id)
    select distinct * from unnest(:tenant::text[], :project::text[], :conversation_id::text[], :turn_id::text[])
    order by 1, 2, 3, 4 on conflict do nothing;
    with changed as (
        select * from unnest(:tenant::text[], :project::text[], :conversation_id::text[], :turn_id::text[])
            g (tenant, project, conversation_id, turn_id)
        union select e.tenant, e.project, e.conversation_id, e.turn_id from unnest(earlier) e
    ), shown as (
        select changed.*, latest.status, latest.feedback_id
        from changed left join lateral (
            select e.status, e.feedback_id from effective e
            where e.conversation_id = changed.conversation_id and e.turn_id = changed.turn_id and e.tenant = changed.tenant
              and e.project = changed.project
            order by e.reviewer, e.at desc, e.feedback_id desc limit 1
        ) latest on true
    )
    update turns t set user_status = shown.status, user_feedback_id = shown.feedback_id
    from shown
    where t.conversation_id = shown.conversation_id and t.turn_id = shown.turn_id and t.tenant = shown.tenant
      and t.project = shown.project
      and (t.user_status, t.user_feedback_id) is distinct from (shown.status, shown.feedback_id);
end
