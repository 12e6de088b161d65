-- compatible_from: 0001
-- The index finds whole words faster than beginnings of words, so it first looks for whole words. If already `most`
-- texts contain them, the caller ignores the ids, and the index need not look for beginnings. Terms that at least half of
-- the messages have (the project's too) are not looked up in the index if there are other words: reading their entries
-- takes longer than matching the texts that the others find.
-- PostgreSQL does not use indexes of search_terms under row level security, because the operator is not leakproof. This function
-- runs as their owner and applies the rule of the policies itself: a reader sees only its own tenant.
-- It returns the feedback whose own text, question or answer matches all patterns, and the number of matching texts,
-- at most `most` of each table: if it is `most`, there may be more, and the ids are incomplete.
create or replace function feedback_about(in of_tenant text, in of_project text, in words text, in patterns text[], in most int,
    out texts int, out ids uuid[])
language sql stable security definer set search_path = reporting, pg_temp set enable_seqscan = off
set work_mem = '64MB' as $$
    with common as materialized (
        select w.word
        from pg_stats s
        cross join lateral unnest(s.most_common_elems::text::text[], s.most_common_elem_freqs) as w (word, share)
        where s.schemaname = 'reporting' and s.tablename = 'messages_terms' and w.share >= 0.5 and w.word is not null
    ), asked as materialized (
        select '''' || lexeme || '''' as quoted, lexeme ~ '^of[0-9a-f]{32}$' as is_project,
               exists (select from common where starts_with(word, lexeme)) as is_common
        from unnest(search_terms(of_tenant, of_project, words))
        where current_setting('role') = 'none' or of_tenant = current_setting('agent_feedback.tenant', true)
    ), wanted as materialized (
        select string_agg(quoted || case when is_project then '' else ':*' end, ' & ')::tsquery as terms,
               string_agg(quoted, ' & ') filter (where not (is_project and is_common))::tsquery as whole_words,
               string_agg(quoted || case when is_project then '' else ':*' end, ' & ') filter (
                   where not is_common or not is_project and not exists (select from asked where not is_project and not is_common)
               )::tsquery as terms_of_messages
        from asked
    ), frequent as materialized (
        select count(*) = most as is_frequent from (
            select from wanted, messages m
            where search_terms(m.tenant, m.project, m.content) @@ wanted.whole_words
              and m.tenant = of_tenant and m.project = of_project and m.content ~* all(patterns)
            limit most
        ) found
    ), said as materialized (
        select m.conversation_id, m.turn_id, m.occurred_at, m.sequence
        from wanted, messages m
        where search_terms(m.tenant, m.project, m.content) @@ wanted.terms_of_messages
          and m.tenant = of_tenant and m.project = of_project and m.content ~* all(patterns)
          and not (select is_frequent from frequent)
        limit most
    ), own as materialized (
        (select f.feedback_id from wanted, feedbacks f
         where search_terms(f.tenant, f.project, coalesce(f.text, '') || ' ' || coalesce(f.correction, '')) @@ wanted.terms
           and (f.text is not null or f.correction is not null) and f.tenant = of_tenant and f.project = of_project
           and (coalesce(f.text, '') || ' ' || coalesce(f.correction, '')) ~* all(patterns)
           and not (select is_frequent from frequent)
         limit most)
        union all
        (select r.feedback_id from wanted, replies r
         where search_terms(r.tenant, r.project, coalesce(r.text, '')) @@ wanted.terms
           and r.text is not null and r.tenant = of_tenant and r.project = of_project and r.text ~* all(patterns)
           and not (select is_frequent from frequent)
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
    select case when (select is_frequent from frequent) then most
                else greatest((select count(*) from said), (select count(*) from own)) end::int, array(
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
