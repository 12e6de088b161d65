-- compatible_from: 0001
-- A caller ignores the ids if the number of texts reaches `most`, so their turns are not looked up.
-- PostgreSQL does not use indexes of search_terms under row level security, because the operator is not leakproof. This function
-- runs as their owner and applies the rule of the policies itself: a reader sees only its own tenant.
-- It returns the feedback whose own text, question or answer matches all patterns, and the number of matching texts,
-- at most `most` of each table: if it is `most`, there may be more, and the ids are incomplete.
create or replace function feedback_about(in of_tenant text, in of_project text, in words text, in patterns text[], in most int,
    out texts int, out ids uuid[])
language sql stable security definer set search_path = reporting, pg_temp set enable_seqscan = off
set work_mem = '64MB' as $$
    with wanted as materialized (
        select string_agg('''' || lexeme || '''' || case when lexeme ~ '^of[0-9a-f]{32}$' then '' else ':*' end, ' & ')::tsquery as terms
        from unnest(search_terms(of_tenant, of_project, words))
        where current_setting('role') = 'none' or of_tenant = current_setting('agent_feedback.tenant', true)
    ), said as materialized (
        select m.conversation_id, m.turn_id, m.occurred_at, m.sequence
        from wanted, messages m
        where search_terms(m.tenant, m.project, m.content) @@ wanted.terms
          and m.tenant = of_tenant and m.project = of_project and m.content ~* all(patterns)
        limit most
    ), own as materialized (
        (select f.feedback_id from wanted, feedbacks f
         where search_terms(f.tenant, f.project, coalesce(f.text, '') || ' ' || coalesce(f.correction, '')) @@ wanted.terms
           and (f.text is not null or f.correction is not null) and f.tenant = of_tenant and f.project = of_project
           and (coalesce(f.text, '') || ' ' || coalesce(f.correction, '')) ~* all(patterns)
         limit most)
        union all
        (select r.feedback_id from wanted, replies r
         where search_terms(r.tenant, r.project, coalesce(r.text, '')) @@ wanted.terms
           and r.text is not null and r.tenant = of_tenant and r.project = of_project and r.text ~* all(patterns)
         limit most)
    ), turns as materialized (
        -- A person's message without a turn belongs to the answer that follows it.
        select distinct s.conversation_id, coalesce(s.turn_id, (
            select a.turn_id from messages a
            where a.conversation_id = s.conversation_id and a.tenant = of_tenant and a.project = of_project
              and a.sender_type = 'agent' and (a.occurred_at, a.sequence) >= (s.occurred_at, s.sequence)
            order by a.occurred_at, a.sequence limit 1
        )) as turn_id
        from said s
        where (select count(*) from said) < most and (select count(*) from own) < most
    )
    select greatest((select count(*) from said), (select count(*) from own))::int, array(
        select feedback_id from own
        union
        select f.feedback_id from turns t
        join feedbacks f on f.tenant = of_tenant and f.project = of_project and f.conversation_id = t.conversation_id
            and f.turn_id = t.turn_id
        union
        select r.feedback_id from turns t
        join replies r on r.tenant = of_tenant and r.project = of_project and r.conversation_id = t.conversation_id
            and r.turn_id = t.turn_id
    )
$$;
