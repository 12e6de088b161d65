-- compatible_from: 0001
-- Times are microseconds since the epoch unless their type says otherwise. Ids hold up to 1 KiB each, so an index spans
-- at most two of them.

create table feedbacks (
    feedback_id uuid primary key,
    revision bigint not null,
    recorded_at bigint not null,
    -- At most one reaction of a slot counts: a person's turn. A machine's record is a slot of its own.
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
    -- The transaction that wrote the row: paging finds changes since its first page by it.
    written_by xid8 not null default pg_current_xact_id(),
    intent text,
    reviews text
);
comment on table feedbacks is 'Every feedback record that can count, at its highest revision; a null reaction is cleared';
comment on column feedbacks.reviews is 'The machine''s verdict that a reviewer judges; null on other records';
create index feedbacks_slot on feedbacks (slot, occurred_at, feedback_id)
    where feedback_type = 'explicit' or reaction is not null;
-- The newest reaction of a conversation, and all of its reactions in order, from one index.
create index feedbacks_conversation on feedbacks (tenant, project, conversation_id, occurred_at, feedback_id);
create index feedbacks_time on feedbacks (tenant, project, occurred_at desc, conversation_id)
    where reaction is not null;
create index feedbacks_user on feedbacks (tenant, project, user_id, occurred_at desc) where reaction is not null;
create index feedbacks_agent on feedbacks (tenant, project, agent_id, occurred_at desc) where reaction is not null;
create index feedbacks_version on feedbacks (tenant, project, agent_version, occurred_at desc)
    where reaction is not null and agent_version is not null;
create index feedbacks_correction_type on feedbacks (tenant, project, correction_type, occurred_at desc)
    where reaction is not null and correction_type is not null;
create index feedbacks_tags on feedbacks using gin (tags) where tags <> '{}';
-- People's and machine's reactions of one turn: calibration asks for the former, stale hours for the latter.
create index feedbacks_turn on feedbacks (conversation_id, turn_id, origin) where reaction is not null;
-- Changes of a project since a snapshot, whatever their commit order.
create index feedbacks_written on feedbacks (tenant, project, written_by);

-- A machine's record is alone in its slot and always counts, so a figure of a window reads only that window: with the
-- bare anti-join PostgreSQL read the whole table for it.
create view effective as
select f.*
from feedbacks f
where f.reaction is not null and f.source <> 'review'
  and (f.origin = 'machine' or not exists (
    select from feedbacks newer
    where newer.slot = f.slot
      and (newer.feedback_type = 'explicit' or newer.reaction is not null)
      and (newer.occurred_at, newer.feedback_id) > (f.occurred_at, f.feedback_id)
  ));
comment on view effective is
    'Reactions that count: live, newest of their slot (an explicit null is newest as well), and not a reviewer''s';

create view effective_or_review as
select f.*
from feedbacks f
where f.reaction is not null
  and (f.origin = 'machine' or f.source = 'review' or not exists (
    select from feedbacks newer
    where newer.slot = f.slot
      and (newer.feedback_type = 'explicit' or newer.reaction is not null)
      and (newer.occurred_at, newer.feedback_id) > (f.occurred_at, f.feedback_id)
  ));
comment on view effective_or_review is 'Reactions that count, and reviewers'' judgements of the machine''s verdicts';

create table forgotten (
    feedback_id uuid primary key,
    revision bigint not null,
    written_by xid8 not null default pg_current_xact_id()
);
create index forgotten_written on forgotten (written_by);
comment on table forgotten is 'Erased feedback records and the revision of the erasure: an older announcement may come again';

create table messages (
    tenant text not null,
    project text not null,
    message_id text not null,
    conversation_id text not null,
    turn_id text,
    sender_type text not null,
    sender_id text not null,
    user_type text,
    agent_id text,
    content text not null,
    occurred_at bigint not null,
    sequence bigint not null,
    intent text,
    strategy text,
    track_id text,
    bundle_id text,
    version bytea not null,
    agent_version text,
    model text,
    trace_id text,
    reply_to text,
    -- A message id is unique only within its conversation: many chats number messages per conversation.
    primary key (message_id, conversation_id, tenant, project)
);
create index messages_conversation on messages (conversation_id, tenant, project, occurred_at, sequence);
create index messages_turn on messages (tenant, project, conversation_id, turn_id);
-- The person first: an erasure looks through all projects of a tenant.
create index messages_person on messages (sender_id, tenant, project) where sender_type = 'human';
create index messages_thread on messages (tenant, project, conversation_id, reply_to) where reply_to is not null;
comment on column messages.version is 'Orders the versions of a message: the greatest is kept';
comment on column messages.occurred_at is 'Position in the conversation: the time of the earliest version';
comment on column messages.reply_to is 'The message it answers, if the chat says so: exports join answer and request by it';

create table sessions (
    tenant text not null,
    id uuid not null,
    recorded_at bigint not null,
    label text not null,
    turns integer not null,
    primary key (tenant, id)
);
create index sessions_time on sessions (tenant, recorded_at);
comment on table sessions is 'Session ratings of a tenant, without the person; a session names no project';

create table erasures (
    tenant text not null,
    user_id text not null,
    request_id text not null,
    erased_at bigint not null,
    primary key (tenant, user_id)
);
comment on table erasures is 'Erased people and the time of each erasure; read before and after a write of their text';

create table database_server (
    system_identifier bigint not null
);
comment on table database_server is
    'The PostgreSQL cluster whose transaction ids written_by holds; another cluster counts anew. One row';

-- Artifacts of a conversation as its index shows them.
create function rfc3339(moment bigint) returns text language sql stable parallel safe return
    to_char((timestamptz 'epoch' + moment * interval '1 microsecond') at time zone 'UTC',
            'YYYY-MM-DD"T"HH24:MI:SS.US"Z"');

create view reaction_artifacts as
select e.rn as id, e.tenant, e.project, e.user_id, e.conversation_id, e.turn_id, e.track_id, e.bundle_id, e.occurred_at,
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
) r;

create view turn_log_artifacts as
select 'ef:' || t.tenant || ':' || t.project || ':' || coalesce(t.user_id, '') || ':' || t.conversation_id || ':'
           || t.turn_id || ':artifact:turn.log' as id,
       t.tenant, t.project, t.user_id, t.conversation_id, t.turn_id, t.track_id, t.bundle_id, t.occurred_at,
       'artifact' as role,
       array_remove(array['artifact:turn.log', 'turn:' || t.turn_id, 'track:' || t.track_id], null) as tags,
       l.summary::text as text,
       jsonb_build_object('turn_log', l.summary, 'conversation_id', t.conversation_id, 'bundle_id', t.bundle_id)
           as payload
from (
    select tenant, project, conversation_id, turn_id,
           min(occurred_at) as occurred_at,
           count(*) as messages,
           (array_agg(sender_id order by occurred_at, sequence) filter (where sender_type = 'human'))[1] as user_id,
           (array_agg(left(content, 500) order by occurred_at, sequence) filter (where sender_type = 'human'))[1] as asked,
           (array_agg(left(content, 500) order by occurred_at desc, sequence desc)
               filter (where sender_type = 'agent'))[1] as answered,
           max(agent_id) as agent_id, max(intent) as intent, max(strategy) as strategy,
           max(track_id) as track_id, max(bundle_id) as bundle_id
    from messages
    where turn_id is not null
    group by tenant, project, conversation_id, turn_id
) t
cross join lateral (
    select jsonb_build_object('turn_id', t.turn_id, 'ts', rfc3339(t.occurred_at), 'messages', t.messages,
                              'user', t.asked, 'assistant', t.answered, 'agent_id', t.agent_id, 'intent', t.intent,
                              'strategy', t.strategy) as summary
) l;

create view conv_messages as
select * from reaction_artifacts union all select * from turn_log_artifacts;
comment on view conv_messages is 'Artifacts of a conversation: effective reactions and turn logs';

-- Webhook deliveries. One row per subject: a later revision replaces an earlier one.
create table deliveries (
    endpoint text not null,
    subject text not null,
    event_id text not null,
    topic text not null,
    revision bigint not null,
    tenant text not null,
    user_id text,
    occurred_at bigint not null,
    event text not null,
    created_at bigint not null,
    next_at bigint not null,
    attempts integer not null default 0,
    dead boolean not null default false,
    last_answer text,
    primary key (endpoint, subject)
);
comment on table deliveries is 'Events that webhook receivers have not accepted yet; dead ones are no longer retried';
create index deliveries_due on deliveries (endpoint, next_at) where not dead;
create index deliveries_person on deliveries (user_id, tenant) where user_id is not null;
create index deliveries_subject on deliveries (subject);
create index deliveries_age on deliveries (created_at);

-- Counts of effective reactions by hour and day, so that a figure of a long window need not read its feedback.
create table rollups (
    tenant text not null,
    project text not null,
    grain text not null,
    start bigint not null,
    origin text not null,
    agent_id text,
    agent_version text,
    model text,
    kind text,
    reason text,
    ok integer not null,
    neutral integer not null,
    not_ok integer not null,
    confidence double precision not null
);
comment on table rollups is 'Counts of effective reactions; invalid for the hours in stale_hours, and their days';
comment on column rollups.grain is
    'hour, day: by agent, version and model; total: hours of all agents; reason hour, reason day: by reason as well; judgement hour, judgement day: the machine''s verdicts by confidence';
comment on column rollups.kind is
    'Of a reason: tag, rule or correction_type. Of judgements: verdict, for counts of the machine''s verdicts; or the machine''s verdict, for counts of people''s reactions on the same turns';
comment on column rollups.reason is 'The reason; of judgements the twentieth of confidence, 0 to 19';
comment on column rollups.confidence is
    'Sum of the confidences of the counted records; of judgements the machine''s, once for each pair';
create index rollups_start on rollups (tenant, project, grain, start);
create index rollups_agent on rollups (tenant, project, agent_id, start) where grain = 'hour';

-- Writers of feedback only insert rows; whoever recounts an hour deletes its rows in the same snapshot. So to any reader
-- an hour is either counted from the feedback that the reader sees, or stale.
create table stale_hours (
    tenant text not null,
    project text not null,
    hour bigint not null,
    marked_at timestamptz not null default clock_timestamp(),
    -- A concurrent writer may not have seen the cause of the mark: an hour is recounted once such writers have ended.
    written_by xid8 not null default pg_current_xact_id()
);
comment on table stale_hours is 'Hours whose feedback has changed since they were counted';
create index stale_hours_hour on stale_hours (tenant, project, hour);

create function mark_stale_hours() returns trigger language plpgsql as $$
begin
    if not exists (select from changed) then  -- an insert that becomes updates calls both kinds of trigger
        return null;
    end if;
    -- Other records of a changed slot may begin or cease to count. A person's change also changes how the machine's
    -- verdict on that turn was judged. That look-up names the turn alone, because the plan is kept: made without
    -- statistics, it may use tenant and project instead, and read all of their feedback for each turn.
    insert into stale_hours (tenant, project, hour)
    select distinct tenant, project, occurred_at / 3600000000 * 3600000000 from (
        select tenant, project, occurred_at from changed
        union all
        select f.tenant, f.project, f.occurred_at
        from feedbacks f
        where f.slot in (select slot from changed where origin = 'user' and source <> 'review')
          and (f.feedback_type = 'explicit' or f.reaction is not null)
        union all
        select f.tenant, f.project, f.occurred_at
        from (select distinct tenant, project, conversation_id, turn_id from changed where origin = 'user') turn
        cross join lateral (
            select f.tenant, f.project, f.occurred_at from feedbacks f
            where f.conversation_id = turn.conversation_id and f.turn_id = turn.turn_id and f.origin = 'machine'
              and f.reaction is not null
            offset 0
        ) f
        where f.tenant = turn.tenant and f.project = turn.project
    ) touched;
    return null;
end
$$;
create trigger stale_by_insert after insert on feedbacks referencing new table as changed
    for each statement execute function mark_stale_hours();
create trigger stale_by_delete after delete on feedbacks referencing old table as changed
    for each statement execute function mark_stale_hours();
create trigger stale_by_update_of after update on feedbacks referencing old table as changed
    for each statement execute function mark_stale_hours();
create trigger stale_by_update_to after update on feedbacks referencing new table as changed
    for each statement execute function mark_stale_hours();

-- The artifact store, if one is configured. Turns are marked as stale only while there is a row.
create table artifact_store (
    url text not null,
    turn_logs boolean not null,
    marked_to text[]
);
comment on table artifact_store is
    'The object store that artifacts are replicated to, and whether turn logs are included. At most one row';
comment on column artifact_store.marked_to is
    'Tenant, project and conversation up to which turns older than the store are marked; null once all are';

create table hosted_artifacts (
    name text primary key,
    tenant text not null,
    project text not null,
    conversation_id text not null,
    turn_id text not null,
    artifact text not null,
    digest bytea,
    state text not null,
    due_at bigint
);
comment on table hosted_artifacts is 'Every object that may be in the artifact store, inserted before it is written; no text';
comment on column hosted_artifacts.state is
    'writing; current; doomed: to be deleted; late: deleted, and again at due_at, since a write may arrive late';
create index hosted_artifacts_turn on hosted_artifacts (tenant, project, conversation_id, turn_id);
create index hosted_artifacts_doomed on hosted_artifacts (state, due_at) where state in ('doomed', 'late');

create table stale_turns (
    id bigint generated always as identity primary key,
    tenant text not null,
    project text not null,
    conversation_id text not null,
    turn_id text not null
);
comment on table stale_turns is 'Turns whose artifacts have changed since they were replicated';

create table held_receipts (
    id bigint generated always as identity primary key,
    tenant text not null,
    topic text not null,
    key text not null,
    value bytea not null,
    headers text not null
);
comment on table held_receipts is 'Erasure receipts that wait until the artifact store has deleted the objects';

create function mark_stale_turns() returns trigger language plpgsql as $$
begin
    if exists (select from artifact_store where turn_logs or tg_table_name = 'feedbacks') then
        insert into stale_turns (tenant, project, conversation_id, turn_id)
        select distinct tenant, project, conversation_id, turn_id from changed where turn_id is not null;
    end if;
    return null;
end
$$;
create trigger stale_turn_by_insert after insert on feedbacks referencing new table as changed
    for each statement execute function mark_stale_turns();
create trigger stale_turn_by_delete after delete on feedbacks referencing old table as changed
    for each statement execute function mark_stale_turns();
create trigger stale_turn_by_update_of after update on feedbacks referencing old table as changed
    for each statement execute function mark_stale_turns();
create trigger stale_turn_by_update_to after update on feedbacks referencing new table as changed
    for each statement execute function mark_stale_turns();
create trigger stale_turn_by_insert after insert on messages referencing new table as changed
    for each statement execute function mark_stale_turns();
create trigger stale_turn_by_delete after delete on messages referencing old table as changed
    for each statement execute function mark_stale_turns();
create trigger stale_turn_by_update_of after update on messages referencing old table as changed
    for each statement execute function mark_stale_turns();
create trigger stale_turn_by_update_to after update on messages referencing new table as changed
    for each statement execute function mark_stale_turns();
