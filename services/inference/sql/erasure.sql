-- fragment: is_covered
-- The row is kept, because `evaluation` counts the messages of a conversation and must not decrease. The sender is kept
-- as an id or a pseudonym, because verdicts on other people's messages depend on earlier senders.
m.tenant = :tenant and m.sender_id in (:user_id, :pseudonym) and m.role = 'human' and m.said_at <= :until

-- name: blank_messages
-- The erasure has removed the feedback that was announced under the person's id. Nothing is left to retract, so the
-- emitted columns are cleared.
update messages set text = '', sender_id = :pseudonym,
    emitted_turn_id = case when sender_id = :pseudonym then emitted_turn_id end,
    emitted_agent_id = case when sender_id = :pseudonym then emitted_agent_id end
where (message_id, conversation_id, tenant, project) in (
    select message_id, conversation_id, tenant, project from messages m
    where {is_covered} and (text <> '' or sender_id <> :pseudonym) limit :limit)

-- name: blank_questions
-- A turn is kept longer than its messages.
update turns set user_id = null, user_text = null, user_vector = null
where (conversation_id, turn_id, tenant, project) in (
    select t.conversation_id, t.turn_id, t.tenant, t.project
    from (select * from turns where assistant_text is null union all select * from turns where assistant_text is not null) t
    left join messages m on m.message_id = t.user_message_id and {is_in_conversation(t)}
    where t.tenant = :tenant and t.user_id in (:user_id, :pseudonym) and coalesce(m.said_at, t.at, 0) <= :until limit :limit)

-- name: reactions_of_person
select feedback_id, revision from user_reactions where user_id = :user_id and tenant = :tenant and at <= :until limit :limit
