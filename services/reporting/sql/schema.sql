-- Tables of the reporting service: feedback and messages, figures derived from them, and what operators set.
-- Times are microseconds since the epoch unless their type says otherwise. Ids have up to 1 KiB each, so an index spans
-- at most two of them.

-- Letters of scripts without spaces (Thai to Khmer, kana, Han): their runs are indexed by pairs of letters, as
-- pg_trgm, which would do it by three, is not everywhere installed.
create function search_pairs(content text) returns tsvector language sql immutable parallel safe
return array_to_tsvector(array(
    select distinct substr(run.letters[1], n, 2)
    from regexp_matches(content, '[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]+', 'g')
        as run (letters),
        generate_series(1, length(run.letters[1])) as n
));

-- The words and pairs of the first 10,000 characters, and a word that names the project: each search is for it as well.
create function search_terms(tenant text, project text, content text) returns tsvector
language sql immutable parallel safe
return case when octet_length(content) = length(content) then
    to_tsvector('simple', 'of' || md5(tenant || '/' || project) || ' '
        || translate(left(content, 10000), '!"#$%&''()*+,-./:;<=>?@[\]^_`{|}~', repeat(' ', 32)))
else
    to_tsvector('simple', 'of' || md5(tenant || '/' || project) || ' '
        || translate(regexp_replace(left(content, 10000),
            '[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]+', ' ', 'g'),
            '!"#$%&''()*+,-./:;<=>?@[\]^_`{|}~', repeat(' ', 32)))
    || search_pairs(left(content, 10000))
end;

-- True if an answer begins by addressing a person, as in "@ann ...", "<@ann> ..." or "ann, ..." (contracts/exchange.py).
create function is_addressed(answer text, name text) returns boolean language sql immutable parallel safe return (
    select name <> '' and lower(left(opening, length(name))) = lower(name) and length(opening) > length(name)
        and strpos(case when is_mention then ' ,:>' else ',:' end, substr(opening, length(name) + 1, 1)) > 0
    from (select regexp_replace(answer, '^\s*<?@?', '') as opening, answer ~ '^\s*<?@' as is_mention) a
);

-- Feedback records at their highest revision. A record is live if its value is not null. A live verdict has a reaction;
-- a reply to an answer (feedback type implicit) has none, because it is not a verdict
create table feedbacks (
    feedback_id uuid primary key,
    revision bigint not null,
    recorded_at bigint not null,
    slot uuid not null,
    tenant text not null,
    project text not null,
    conversation_id text not null,
    turn_id text not null,
    user_id text not null,
    user_type text not null,
    agent_id text not null,
    agent_message_id text,
    origin text not null,
    feedback_type text not null,
    source text not null,
    reaction text,
    value double precision,
    confidence double precision not null,
    text text,
    tags text[] not null,
    correction text,
    emoji text,
    correction_type text,
    occurred_at bigint not null,
    rn text not null,
    track_id text,
    bundle_id text,
    agent_version text,
    model text,
    trace_id text,
    written_by xid8 not null default pg_current_xact_id(),
    intent text,
    -- The machine's verdict that a reviewer judges; null on other records
    reviews text,
    -- Of an overruled machine verdict: the review that counts in its place
    overruled_by uuid,
    -- Of an overruled machine verdict: the machine's reaction; it counts for nothing
    overruled_reaction text,
    -- Of a machine's verdict: the detector's version
    detector text,
    -- Of a machine's verdict: rules, learned or llm
    decided_by text,
    -- Rating of the answer, from worst_rating to best_rating; null for other feedback
    rating smallint,
    worst_rating smallint,
    best_rating smallint,
    -- The answer that the feedback is about: agent_message_id, or the turn's last answer if the event names only the
    -- turn, or if a judgement names a message that was emptied. If the answer is known, this column and the next four agree with messages and exchanges; otherwise they are
    -- those of the event
    answer_id text,
    question_message_id text,
    thread_id text,
    strategy text,
    -- The attributes by which answers are compared, as names and texts; null without any
    attributes jsonb
);
create index feedbacks_about on feedbacks (conversation_id, answer_id) where answer_id is not null;
create index feedbacks_agent on feedbacks (tenant, project, agent_id, occurred_at desc)
    where reaction is not null or value is not null;
create index feedbacks_conversation on feedbacks (tenant, project, conversation_id, occurred_at, feedback_id);
create index feedbacks_of_detector on feedbacks (tenant, project, occurred_at, detector, decided_by)
    where origin = 'machine' and (reaction is not null or overruled_reaction is not null);
create index feedbacks_overruled on feedbacks (tenant, project, occurred_at) where overruled_reaction is not null;
create index feedbacks_question on feedbacks (conversation_id, question_message_id)
    where question_message_id is not null;
create index feedbacks_rated on feedbacks (tenant, project, occurred_at) where rating is not null;
create index feedbacks_reasons on feedbacks (tenant, project, occurred_at desc, correction_type)
    where reaction is not null and (correction_type is not null or origin <> 'machine' and tags <> '{}');
create index feedbacks_replies on feedbacks (tenant, project, occurred_at)
    where feedback_type = 'implicit' and value is not null;
create index feedbacks_slot on feedbacks (slot, occurred_at, feedback_id)
    where feedback_type = 'explicit' or reaction is not null;
create index feedbacks_strategy on feedbacks (tenant, project, strategy, occurred_at desc)
    where (reaction is not null or value is not null) and strategy is not null;
create index feedbacks_tags on feedbacks using gin (tags) where tags <> '{}';
create index feedbacks_terms on feedbacks
    using gin (search_terms(tenant, project, (coalesce(text, '') || ' ') || coalesce(correction, '')))
    where text is not null or correction is not null;
create index feedbacks_thread on feedbacks (tenant, project, thread_id, occurred_at desc)
    where (reaction is not null or value is not null) and thread_id is not null;
create index feedbacks_time on feedbacks (tenant, project, occurred_at desc, conversation_id)
    where reaction is not null or value is not null;
create index feedbacks_turn on feedbacks (conversation_id, turn_id, origin);
create index feedbacks_user on feedbacks (tenant, project, user_id, occurred_at desc)
    where reaction is not null or value is not null;
create index feedbacks_version on feedbacks (tenant, project, agent_version, occurred_at desc)
    where (reaction is not null or value is not null) and agent_version is not null;
create index feedbacks_written on feedbacks (tenant, project, written_by);

-- Replies, and the verdicts that count: of a person's verdicts on a turn the newest, of its reviews the newest, and all
-- verdicts of the machine. With `by_answer`, only a newer verdict on the same answer replaces a verdict of a person or a
-- reviewer: a turn may have several answers
create function live_feedback(by_answer boolean) returns setof feedbacks language sql stable begin atomic
select f.*
from feedbacks f
where f.feedback_type = 'implicit' and f.value is not null
  or f.reaction is not null and (f.origin = 'machine'
    or f.origin = 'reviewer' and not exists (
        select from feedbacks newer
        where newer.conversation_id = f.conversation_id and newer.turn_id = f.turn_id and newer.origin = 'reviewer'
          and (not by_answer or newer.answer_id is not distinct from f.answer_id)
          and newer.tenant = f.tenant and newer.project = f.project and newer.reaction is not null
          and (newer.occurred_at, newer.feedback_id) > (f.occurred_at, f.feedback_id))
    or f.origin = 'user' and not exists (
        select from feedbacks newer
        where newer.slot = f.slot and newer.tenant = f.tenant
          and (not by_answer or newer.answer_id is not distinct from f.answer_id)
          and (newer.feedback_type = 'explicit' or newer.reaction is not null)
          and (newer.occurred_at, newer.feedback_id) > (f.occurred_at, f.feedback_id)));
end;

-- The verdicts that count
create view effective as select * from live_feedback(false) where reaction is not null;

create view effective_or_overruled as
select feedback_id, revision, recorded_at, slot, tenant, project, conversation_id, turn_id, user_id, user_type, agent_id,
    agent_message_id, origin, feedback_type, source, coalesce(reaction, overruled_reaction) as reaction, value,
    confidence, text, tags, correction, emoji, correction_type, occurred_at, rn, track_id, bundle_id, agent_version,
    model, trace_id, intent, reviews, overruled_by, overruled_reaction, detector, decided_by,
    rating, worst_rating, best_rating, answer_id, question_message_id, thread_id, strategy, attributes
from (select * from effective union all select * from feedbacks where overruled_reaction is not null) f;

-- Erased feedback records and the revision of the erasure: an older announcement may come again
create table forgotten (
    feedback_id uuid primary key,
    revision bigint not null
);

create table messages (
    tenant text not null,
    project text not null,
    message_id text not null,
    conversation_id text not null,
    turn_id text,
    sender_type text not null,
    -- Empty for an erased person
    sender_id text not null,
    user_type text,
    agent_id text,
    content text not null,
    -- Position in the conversation: the time of the earliest version
    occurred_at bigint not null,
    sequence bigint not null,
    intent text,
    strategy text,
    track_id text,
    bundle_id text,
    -- Orders the versions of a message: the greatest is kept
    version bytea not null,
    agent_version text,
    model text,
    trace_id text,
    -- The message it answers, if the chat says so: exports join answer and request by it
    reply_to text,
    -- The thread that it stands in; empty: the channel
    thread text not null default '',
    -- Time of the version that is kept, in microseconds: a part of `version`
    said_at bigint not null generated always as
        (('x' || encode(substring(version from 2 for 8), 'hex'))::bit(64)::bigint) stored,
    -- Of an answer: the attributes by which answers are compared, as names and texts; null without any
    attributes jsonb,
    -- False if the message is empty or deleted
    has_text boolean not null default true,
    -- Time since which the message has had its current text. Versions that repeat the text change nothing
    text_since bigint not null default 0,
    -- Time of the latest version with another text from the same kind of event; null if there is none
    other_text_at bigint,
    -- Orders messages that have one time: time and offset of the earliest version's record
    log_time bigint not null default 0,
    log_offset bigint not null default 0,
    primary key (message_id, conversation_id, tenant, project)
);
create index messages_answers on messages (tenant, project, occurred_at) where sender_type = 'agent';
create index messages_conversation on messages (conversation_id, tenant, project, occurred_at, sequence);
-- A thread's id has up to 1 KiB, so the index has its hash.
create index messages_of_thread
    on messages (conversation_id, tenant, project, hashtextextended(thread, 0::bigint), occurred_at, sequence);
create index messages_person on messages (sender_id, tenant, project) where sender_type <> 'agent';
create index messages_terms on messages using gin (search_terms(tenant, project, content));
create index messages_thread on messages (tenant, project, conversation_id, reply_to) where reply_to is not null;
create index messages_turn on messages (tenant, project, conversation_id, turn_id);

-- The question that each answer answers, by the rule of contracts/exchange.py: a person's message. An answer whose
-- question is unknown has no row
create table exchanges (
    tenant text not null,
    project text not null,
    conversation_id text not null,
    answer_id text not null,
    question_id text not null,
    -- Time of the answer
    occurred_at bigint not null,
    primary key (answer_id, conversation_id, tenant, project)
);
create index exchanges_question on exchanges (question_id, conversation_id);

-- Session ratings of a tenant, without the person; a session names no project
create table sessions (
    tenant text not null,
    id uuid not null,
    recorded_at bigint not null,
    label text not null,
    turns integer not null,
    primary key (tenant, id)
);
create index sessions_time on sessions (tenant, recorded_at);

-- Erased people and the time of each erasure; read before and after a write of their text
create table erasures (
    tenant text not null,
    user_id text not null,
    request_id text not null,
    erased_at bigint not null,
    primary key (tenant, user_id)
);

-- Each person's latest choice about training on their data; exports skip a person who forbids it
create table training_choices (
    tenant text not null,
    user_id text not null,
    -- Id of the event; breaks ties between choices of one time
    choice_id text not null,
    chosen_at bigint not null,
    training_allowed boolean not null,
    primary key (tenant, user_id)
);

-- The PostgreSQL cluster whose transaction ids written_by holds; another cluster counts anew. One row
create table database_server (
    system_identifier bigint not null
);

-- The index finds whole words faster than beginnings of words, so it first looks for whole words. If already `most`
-- texts contain them, the caller ignores the ids, and the index need not look for beginnings. Terms that at least half of
-- the messages have (the project's too) are not looked up in the index if there are other words: reading their entries
-- takes longer than matching the texts that the others find.
-- PostgreSQL does not use indexes of search_terms under row level security, because the operator is not leakproof. This function
-- runs as their owner and applies the rule of the policies itself: a reader sees only its own tenant.
-- It returns the feedback whose own text, question or answer matches all patterns, and the number of matching texts,
-- at most `most` of each table: if it is `most`, there may be more, and the ids are incomplete.
create function feedback_about(in of_tenant text, in of_project text, in words text, in patterns text[], in most int,
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
        select m.conversation_id, m.message_id
        from wanted, messages m
        where search_terms(m.tenant, m.project, m.content) @@ wanted.terms_of_messages
          and m.tenant = of_tenant and m.project = of_project and m.content ~* all(patterns)
          and not (select is_frequent from frequent)
        limit most
    ), own as materialized (
        select f.feedback_id from wanted, feedbacks f
        where search_terms(f.tenant, f.project, coalesce(f.text, '') || ' ' || coalesce(f.correction, '')) @@ wanted.terms
          and (f.text is not null or f.correction is not null) and f.tenant = of_tenant and f.project = of_project
          and (coalesce(f.text, '') || ' ' || coalesce(f.correction, '')) ~* all(patterns)
          and not (select is_frequent from frequent)
        limit most
    ), matching as materialized (
        select conversation_id, message_id from said
        where (select count(*) from said) < most and (select count(*) from own) < most
    )
    select case when (select is_frequent from frequent) then most
                else greatest((select count(*) from said), (select count(*) from own)) end::int, array(
        select feedback_id from own
        union
        select f.feedback_id from matching s
        join feedbacks f on f.conversation_id = s.conversation_id and f.answer_id = s.message_id
            and f.tenant = of_tenant and f.project = of_project
        union
        select f.feedback_id from matching s
        join feedbacks f on f.conversation_id = s.conversation_id and f.question_message_id = s.message_id
            and f.tenant = of_tenant and f.project = of_project
    )
$$;

create function rfc3339(moment bigint) returns text language sql stable parallel safe return
    to_char((timestamptz 'epoch' + moment * interval '1 microsecond') at time zone 'UTC',
            'YYYY-MM-DD"T"HH24:MI:SS.US"Z"');

-- Artifacts of a conversation as its index shows them: effective reactions and logs of turns. A condition on `kind` spares
-- the other part.
create view conv_messages as
select 'turn.log.reaction' as kind, e.rn as id, e.tenant, e.project, e.user_id, e.conversation_id, e.turn_id, e.track_id, e.bundle_id, e.occurred_at,
       'artifact' as role,
       array_remove(array['artifact:turn.log.reaction', 'turn:' || e.turn_id, 'origin:' || e.origin,
                          'track:' || e.track_id], null) as tags,
       r.reaction::text as text,
       jsonb_build_object(
           'reaction', r.reaction,
           'meta', jsonb_build_object('rn', e.rn, 'turn_id', e.turn_id, 'track_id', e.track_id,
                                      'user_type', e.user_type, 'kind', 'turn.log.reaction'),
           'conversation_id', e.conversation_id, 'bundle_id', e.bundle_id) as payload
from effective e
cross join lateral (
    select jsonb_build_object('turn_id', e.turn_id, 'text', e.text, 'confidence', e.confidence,
                              'ts', rfc3339(e.occurred_at), 'reaction', e.reaction, 'origin', e.origin) as reaction
) r
union all
select 'turn.log', 'ef:' || t.tenant || ':' || t.project || ':' || coalesce(t.user_id, '') || ':' || t.conversation_id || ':'
           || t.turn_id || ':artifact:turn.log' as id,
       t.tenant, t.project, t.user_id, t.conversation_id, t.turn_id, t.track_id, t.bundle_id, t.occurred_at,
       'artifact' as role,
       array_remove(array['artifact:turn.log', 'turn:' || t.turn_id, 'track:' || t.track_id], null) as tags,
       l.summary::text as text,
       jsonb_build_object('turn_log', l.summary, 'conversation_id', t.conversation_id, 'bundle_id', t.bundle_id)
           as payload
from (
    select m.tenant, m.project, m.conversation_id, m.turn_id,
           min(m.occurred_at) as occurred_at,
           count(*) as messages,
           (array_agg(coalesce(q.sender_id, m.sender_id) order by m.occurred_at, m.sequence)
               filter (where q.message_id is not null or m.sender_type = 'human'))[1] as user_id,
           coalesce(
               (array_agg(left(q.content, 500) order by m.occurred_at desc, m.sequence desc)
                   filter (where q.message_id is not null))[1],
               (array_agg(left(m.content, 500) order by m.occurred_at, m.sequence)
                   filter (where m.sender_type = 'human'))[1]) as asked,
           (array_agg(left(m.content, 500) order by m.occurred_at desc, m.sequence desc)
               filter (where m.sender_type = 'agent'))[1] as answered,
           max(m.agent_id) as agent_id, max(m.intent) as intent, max(m.strategy) as strategy,
           max(m.track_id) as track_id, max(m.bundle_id) as bundle_id
    from messages m
    left join exchanges x on x.answer_id = m.message_id and x.conversation_id = m.conversation_id
        and x.tenant = m.tenant and x.project = m.project
    left join messages q on q.message_id = x.question_id and q.conversation_id = x.conversation_id
        and q.tenant = x.tenant and q.project = x.project
    where m.turn_id is not null
    group by m.tenant, m.project, m.conversation_id, m.turn_id
) t
cross join lateral (
    select jsonb_build_object('turn_id', t.turn_id, 'ts', rfc3339(t.occurred_at), 'messages', t.messages,
                              'user', t.asked, 'assistant', t.answered, 'agent_id', t.agent_id, 'intent', t.intent,
                              'strategy', t.strategy) as summary
) l;

-- Counts of effective reactions; invalid for the hours in stale_hours, and their days
create table rollups (
    tenant text not null,
    project text not null,
    -- hour, day: by agent, version and model; total: hours of all agents; reason hour, reason day: by reason as
    -- well; judgement hour, judgement day: people's verdicts on the turns of the machine's; dimension hour, dimension day: by
    -- dimension and value
    grain text not null,
    start bigint not null,
    origin text not null,
    agent_id text,
    agent_version text,
    model text,
    -- Of a reason: tag or correction_type. Of judgements: the machine's verdict. Of dimensions: the dimension
    kind text,
    -- The reason; of judgements the twentieth of confidence, 0 to 19; of dimensions the value
    reason text,
    ok integer not null,
    neutral integer not null,
    not_ok integer not null,
    -- Sum of the confidences of the counted records; of judgements the machine's, once for each pair
    confidence double precision not null
);
create index rollups_agent on rollups (tenant, project, agent_id, grain, start);
create index rollups_choices on rollups (tenant, project, kind, reason, agent_id, start)
    where grain = 'dimension day';
create index rollups_dimension on rollups (tenant, project, grain, kind, reason, start)
    where grain = any (array['dimension hour', 'dimension day']);
create index rollups_start on rollups (tenant, project, grain, start);

-- Hours whose feedback has changed since they were counted
create table stale_hours (
    tenant text not null,
    project text not null,
    hour bigint not null,
    marked_at timestamp with time zone not null default clock_timestamp(),
    written_by xid8 not null default pg_current_xact_id()
);
create index stale_hours_hour on stale_hours (tenant, project, hour);

-- Turns that a reader has to look at again, because their feedback or messages have changed: `issues` if a rejection may
-- have begun or ceased to count, `mirror` if artifacts may differ from their copies in the object store
create table changed_turns (
    id bigint generated always as identity,
    reader text not null,
    tenant text not null,
    project text not null,
    conversation_id text not null,
    turn_id text not null,
    primary key (id, tenant)
);
create index changed_turns_of_reader on changed_turns (reader, id);

create type changed_feedback as (
    tenant text, project text, conversation_id text, turn_id text, slot uuid, origin text, reaction text,
    occurred_at bigint
);

-- Notes which verdicts a statement on feedbacks has changed, for the counts of hours, the issues and the mirror
create function note_changed_feedbacks() returns trigger language plpgsql as $$
declare
    changed changed_feedback[] := '{}';
begin
    if tg_op <> 'DELETE' then
        changed := array(select row(n.tenant, n.project, n.conversation_id, n.turn_id, n.slot, n.origin, n.reaction,
                                    n.occurred_at)::changed_feedback
                         from new_rows n where n.feedback_type <> 'implicit');
    end if;
    if tg_op <> 'INSERT' then
        changed := changed
            || array(select row(o.tenant, o.project, o.conversation_id, o.turn_id, o.slot, o.origin, o.reaction,
                                o.occurred_at)::changed_feedback
                     from old_rows o where o.feedback_type <> 'implicit');
    end if;
    if cardinality(changed) = 0 then  -- an insert that becomes updates calls both triggers
        return null;
    end if;
    -- Other records of a changed slot may begin or cease to count. A person's change also changes how the machine's
    -- verdict on the turn was judged, and another review of the turn may count. Slots and turns are looked up one by
    -- one and without tenant and project: a kept plan, made without statistics, may otherwise read all feedback of the
    -- project for each of them.
    insert into stale_hours (tenant, project, hour)
    select distinct tenant, project, occurred_at / 3600000000 * 3600000000 from (
        select c.tenant, c.project, c.occurred_at from unnest(changed) c
        union all
        select f.tenant, f.project, f.occurred_at
        from (select distinct c.slot from unnest(changed) c where c.origin = 'user') given
        cross join lateral (
            select f.tenant, f.project, f.occurred_at from feedbacks f
            where f.slot = given.slot and (f.feedback_type = 'explicit' or f.reaction is not null)
            offset 0
        ) f
        union all
        select f.tenant, f.project, f.occurred_at
        from (
            select distinct c.tenant, c.project, c.conversation_id, c.turn_id, o.origin
            from unnest(changed) c cross join unnest(array['machine', 'reviewer']) as o (origin)
            where c.origin in ('user', 'reviewer')
        ) turn
        cross join lateral (
            select f.tenant, f.project, f.occurred_at from feedbacks f
            where f.conversation_id = turn.conversation_id and f.turn_id = turn.turn_id and f.origin = turn.origin
              and (f.reaction is not null or f.overruled_reaction is not null)
            offset 0
        ) f
        where f.tenant = turn.tenant and f.project = turn.project
    ) touched;
    insert into changed_turns (reader, tenant, project, conversation_id, turn_id)
    select distinct 'issues', c.tenant, c.project, c.conversation_id, c.turn_id from unnest(changed) c
    -- A limit, because a plan of `exists` may read the whole table instead of each turn.
    where c.reaction = 'not_ok' or (
        select true from feedbacks f
        where f.conversation_id = c.conversation_id and f.turn_id = c.turn_id and f.reaction = 'not_ok' limit 1);
    if exists (select from artifact_store) then
        insert into changed_turns (reader, tenant, project, conversation_id, turn_id)
        select distinct 'mirror', c.tenant, c.project, c.conversation_id, c.turn_id from unnest(changed) c;
    end if;
    return null;
end
$$;
create trigger feedbacks_inserted after insert on feedbacks referencing new table as new_rows
    for each statement execute function note_changed_feedbacks();
create trigger feedbacks_updated after update on feedbacks referencing old table as old_rows new table as new_rows
    for each statement execute function note_changed_feedbacks();
create trigger feedbacks_deleted after delete on feedbacks referencing old table as old_rows
    for each statement execute function note_changed_feedbacks();

-- Notes the turns whose logs a statement on messages has changed, if the mirror has logs
create function note_changed_messages() returns trigger language plpgsql as $$
begin
    if not exists (select from artifact_store where turn_logs) then
        return null;
    end if;
    if tg_op <> 'DELETE' then
        insert into changed_turns (reader, tenant, project, conversation_id, turn_id)
        select distinct 'mirror', tenant, project, conversation_id, turn_id from new_rows where turn_id is not null;
    end if;
    if tg_op <> 'INSERT' then
        insert into changed_turns (reader, tenant, project, conversation_id, turn_id)
        select distinct 'mirror', tenant, project, conversation_id, turn_id from old_rows where turn_id is not null;
    end if;
    return null;
end
$$;
create trigger messages_inserted after insert on messages referencing new table as new_rows
    for each statement execute function note_changed_messages();
create trigger messages_updated after update on messages referencing old table as old_rows new table as new_rows
    for each statement execute function note_changed_messages();
create trigger messages_deleted after delete on messages referencing old table as old_rows
    for each statement execute function note_changed_messages();

-- Topics of rejected turns by agent; turns, people, first_at, last_at and versions count issue_turns
create table issues (
    id bigint primary key generated always as identity,
    tenant text not null,
    project text not null,
    agent_id text not null,
    encoder text not null,
    -- Mean vector of its turns; derived from people's texts
    centre bytea,
    -- Minimum similarity to the centre at which another turn joins
    radius real not null default 1,
    words text[] not null default '{}',
    -- open, resolved, muted, regressed
    state text not null default 'open',
    resolved_in text,
    -- Time of the last change of the state
    state_at bigint not null,
    assignee text,
    note text,
    merged_into bigint,
    turns integer not null default 0,
    people integer not null default 0,
    first_at bigint,
    last_at bigint,
    versions text[] not null default '{}',
    foreign key (merged_into) references issues(id)
);
create index issues_agent on issues (tenant, project, agent_id);

-- Turns whose rejection counts, with vectors and words of their texts; a turn without issue waits for one
create table issue_turns (
    tenant text not null,
    project text not null,
    conversation_id text not null,
    turn_id text not null,
    agent_id text not null,
    agent_version text,
    -- Who rejected the answer
    user_id text not null,
    -- Who asked the question; null if unknown
    asker_id text,
    by_person boolean not null,
    -- Time of the rejection
    occurred_at bigint not null,
    -- Time of the question, or of the rejection if the question is unknown
    asked_at bigint not null,
    encoder text not null,
    vector bytea not null,
    words text[] not null,
    issue_id bigint,
    -- Similarity to the issue's centre
    nearness real,
    primary key (conversation_id, turn_id, tenant, project),
    foreign key (issue_id) references issues(id)
);
create index issue_turns_agent on issue_turns (tenant, project, agent_id, occurred_at);
create index issue_turns_asker on issue_turns (asker_id, tenant) where asker_id is not null;
create index issue_turns_issue on issue_turns (issue_id, occurred_at) include (user_id);
create index issue_turns_typical on issue_turns (issue_id, nearness desc nulls last, occurred_at desc);
create index issue_turns_user on issue_turns (user_id, tenant);

-- Last grouping of an agent's rejected turns, and the number of turns that it left without issue
create table issue_agents (
    tenant text not null,
    project text not null,
    agent_id text not null,
    grouped_at bigint not null,
    left_waiting integer not null,
    primary key (tenant, project, agent_id)
);

-- Answers drawn at random for review. Only their reviews measure the machine. A rebuild of the reports keeps
-- them
create table audit_draws (
    id bigint generated always as identity,
    tenant text not null,
    project text not null,
    conversation_id text not null,
    turn_id text not null,
    -- Reviewer who is to review the answer; empty: any reviewer
    assignee text not null default '',
    drawn_at bigint not null,
    primary key (id, tenant)
);
create index audit_draws_project on audit_draws (tenant, project, id);
create unique index audit_draws_turn on audit_draws (conversation_id, turn_id, assignee, tenant, project);

-- Alert rules, as JSON
create table alert_rules (
    tenant text not null,
    project text not null,
    name text not null,
    rule text not null,
    primary key (tenant, project, name)
);

-- Receivers of alerts that operators of a project set on the alerts page. Readers see no row (below)
create table alert_channels (
    tenant text not null,
    project text not null,
    name text not null,
    -- slack, teams or webhook
    kind text not null,
    -- The URL of an incoming webhook is a secret
    url text not null,
    -- Signing key of a webhook (Standard Webhooks); empty for other kinds
    secret text not null,
    -- Base URL of the pages, for links
    address text not null,
    -- True if the URL may be http, or outside of the public Internet
    private boolean not null,
    primary key (tenant, project, name)
);

-- Alerts that are open, and those that are over
create table alerts (
    id uuid primary key,
    tenant text not null,
    project text not null,
    rule text not null,
    kind text not null,
    agent text,
    version text,
    opened_at bigint not null,
    over_at bigint,
    title text not null,
    path text not null,
    channels text[] not null,
    -- The finding that opened the alert, as JSON
    finding text not null,
    -- The issue that the alert is about; null: the agent, its version or the project
    issue bigint
);
create unique index alerts_open
    on alerts (tenant, project, rule, kind, coalesce(agent, ''), coalesce(version, ''), coalesce(issue, 0))
    where over_at is null;

-- Events that a webhook endpoint, and announcements that an alert channel has not accepted yet; dead ones are not
-- retried. Besides, erasure receipts that wait until the artifact store has deleted the objects
create table deliveries (
    -- Name of the endpoint or of the channel; empty for a receipt, which goes to the log
    receiver text not null,
    tenant text not null,
    -- Project of the channel; empty for an endpoint and a receipt
    project text not null,
    subject text not null,
    event_id text not null,
    topic text not null,
    revision bigint not null,
    user_id text,
    occurred_at bigint not null,
    event text not null,
    traceparent text,
    -- Subject that must be delivered or dead before
    follows text,
    created_at bigint not null,
    next_at bigint not null,
    attempts integer not null default 0,
    dead boolean not null default false,
    last_answer text,
    primary key (receiver, tenant, project, subject)
);
create index deliveries_due on deliveries (project, receiver, next_at) where not dead;

-- The object store that artifacts are replicated to, and whether turn logs are included. At most one row
create table artifact_store (
    url text not null,
    turn_logs boolean not null,
    -- True once the turns that are older than the store are marked in changed_turns
    is_marked boolean not null default false
);

-- Every object that may be in the artifact store, inserted before it is written; no text
create table hosted_artifacts (
    name text primary key,
    tenant text not null,
    project text not null,
    conversation_id text not null,
    turn_id text not null,
    artifact text not null,
    digest bytea,
    -- writing; current; doomed: to be deleted; late: deleted, and again at due_at, since a write may arrive late
    state text not null,
    due_at bigint
);
create index hosted_artifacts_doomed on hosted_artifacts (state, due_at) where state = any (array['doomed', 'late']);
create index hosted_artifacts_turn on hosted_artifacts (tenant, project, conversation_id, turn_id);

-- Keys of colleagues and programs. Times are in microseconds
create table api_keys (
    id uuid primary key,
    -- Subject of the caller, after `member:`. A revoked key keeps its row, because its name stays the person's
    name text not null,
    -- SHA-256 of the key; null after it was revoked
    key_hash bytea,
    -- The tenant whose projects the key may use; * means all tenants
    tenant text not null,
    -- Names of projects; only * means all of the tenant
    projects text[] not null,
    scopes text[] not null,
    created_at bigint not null,
    created_by text not null,
    expires_at bigint not null,
    -- Time of the last use, to the minute
    used_at bigint,
    unique (tenant, name),
    check (cardinality(projects) > 0),
    check (name ~ '^[a-z0-9][a-z0-9._@+-]{0,99}$'),
    check (tenant <> '*' or projects = array['*'])
);
create unique index api_keys_by_hash on api_keys (key_hash);

-- Who read transcripts, searched, exported, erased, or changed alert rules, views or access. One row for all readings of a
-- conversation, or all searches by one route, by one caller in an hour
create table access_log (
    id bigint generated always as identity,
    -- Time in microseconds
    at bigint not null,
    tenant text not null,
    -- Null: the whole tenant
    project text,
    -- Subject of the token or key
    actor text not null,
    action text not null,
    -- The conversation, the route of a search, the format of an export, the id of a request about a person, the name of a rule, or what was
    -- changed in the views or the access
    about text not null,
    primary key (id, tenant),
    check (action = any (array['read', 'searched', 'exported', 'erased', 'changed training', 'changed rule', 'changed access']))
);
create unique index access_log_erased on access_log (tenant, about) where action in ('erased', 'changed training');
create unique index access_log_read on access_log (actor, about, tenant, project, (at / '3600000000'::bigint))
    where action in ('read', 'searched');
create index access_log_tenant on access_log (tenant, at desc);

-- No policy allows a connection that reads for callers to see these rows.
alter table alert_channels enable row level security;
