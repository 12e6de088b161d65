-- compatible_from: 0001
-- A review counts in place of the machine's verdicts on its turn.
alter table feedback add column overruled_by uuid;
comment on column feedback.overruled_by is 'Of a machine''s verdict: the review that counts in its place';

update feedback set origin = 'reviewer' where source = 'review';

-- Verdicts and reviews have one slot, whose payload names their turn.
create index feedback_on_turn on feedback (conversation_id, (slots -> '' -> 'payload' ->> 'turn_id'))
    where source in ('inference', 'review');
