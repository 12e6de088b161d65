-- function: blank_messages returns setof text
-- Blanks some messages of a person and returns their ids. An answer to a blanked message loses its question.
declare
    projects text[];
    conversations text[];
    ids text[];
    blanked messages[];
begin
    select array_agg(project), array_agg(conversation_id), array_agg(message_id) into projects, conversations, ids from (
        select * from messages
        where sender_id = :user_id::text and tenant = :tenant::text and sender_type <> 'agent' and said_at <= :until::bigint
        limit :limit::bigint
    ) m;
    if ids is null then
        return;
    end if;
    {lock_conversations(conversations, array[]::text[])};
    with changed as (
        update messages m set content = '', sender_id = '', has_text = false
        where message_id = any(ids) and sender_id = :user_id and tenant = :tenant and said_at <= :until
          and (message_id, conversation_id, project) in (select * from unnest(ids, conversations, projects))
        returning m
    )
    select array_agg(m) into blanked from changed;
    perform settle_answers(blanked);
    return query select unnest(ids);
end

-- name: delete_feedbacks_of_person
delete from feedbacks where feedback_id in (
    select feedback_id from feedbacks
    where tenant = :tenant and user_id = :user_id and occurred_at <= :until
      and (reaction is not null or value is not null or overruled_reaction is not null) limit :limit)

-- name: delete_deliveries_of_person
delete from deliveries where (receiver, tenant, project, subject) in (
    select receiver, tenant, project, subject from deliveries
    where tenant = :tenant and user_id = :user_id and occurred_at <= :until
    limit :limit)

-- name: delete_issue_turns_of_person
-- Also clear the columns of issues that were derived from the texts. They are recomputed from the remaining turns.
with gone as materialized (
    select conversation_id, turn_id, tenant, project, issue_id from issue_turns
    where tenant = :tenant and (user_id = :user_id and occurred_at <= :until or asker_id = :user_id and asked_at <= :until)
    limit :limit
), blanked as (
    update issues set centre = null, words = '{}'
    where coalesce(merged_into, id) in (select issue_id from gone)
), marked as (
    insert into changed_turns (reader, tenant, project, conversation_id, turn_id)
    select 'issues', tenant, project, conversation_id, turn_id from gone
)
delete from issue_turns t using gone g
where t.conversation_id = g.conversation_id and t.turn_id = g.turn_id and t.tenant = g.tenant and t.project = g.project

-- name: delete_reason_counts
-- A roll-up may contain a tag that the person wrote. The deletion of the person's feedback has marked the hour stale,
-- so queries no longer read this roll-up.
delete from rollups r using stale_hours s
where s.tenant = :tenant and r.tenant = s.tenant and r.project = s.project
  and (r.grain = 'reason hour' and r.start = s.hour or r.grain = 'reason day' and r.start = s.hour / {day} * {day})

-- fragment: sender
-- Id of the sender; null for an erased person.
nullif(sender_id, '') as sender_id

-- fragment: sender_of(row)
nullif({row}.sender_id, '') as sender_id
