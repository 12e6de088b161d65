-- compatible_from: 0001
-- The inner query does not name the sender type. Otherwise the planner may read all answers of a project by
-- `messages_answers` for each feedback record, as long as the table has no statistics.
create or replace function copy_answer() returns trigger language plpgsql as $$
begin
    select coalesce(m.strategy, ''), m.thread, coalesce(m.attributes, '{}')
    into new.answer_strategy, new.answer_thread, new.answer_attributes
    from (
        select * from messages m
        where m.conversation_id = new.conversation_id and m.turn_id = new.turn_id and m.tenant = new.tenant
          and m.project = new.project
        offset 0
    ) m
    where m.sender_type = 'agent'
    order by (m.message_id = new.agent_message_id) is true desc, (m.agent_id = new.agent_id) is true desc,
             m.occurred_at desc, m.sequence desc, m.message_id
    limit 1;
    return new;
end
$$;
