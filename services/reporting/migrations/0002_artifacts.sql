-- The newest reaction of a conversation, and all of its reactions in their order, from one index.
drop index feedbacks_conversation;
create index feedbacks_conversation on feedbacks (tenant, project, conversation_id, occurred_at, feedback_id);

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
comment on view conv_messages is 'The artifacts of a conversation as its index has them: reactions that count, and turn logs.';
