-- compatible_from: 0001
-- concurrently
-- Feedback by the strategy and the thread of its answer, and the records without a copy, for which the answer is looked up.
create index concurrently if not exists feedbacks_strategy on feedbacks (tenant, project, answer_strategy, occurred_at desc)
    where reaction is not null and answer_strategy <> '';
create index concurrently if not exists feedbacks_thread on feedbacks (tenant, project, answer_thread, occurred_at desc)
    where reaction is not null and answer_thread <> '';
create index concurrently if not exists feedbacks_without_copy on feedbacks (tenant, project, occurred_at desc)
    where answer_attributes is null and reaction is not null;
create index concurrently if not exists overruled_without_copy on feedbacks (tenant, project, occurred_at desc)
    where answer_attributes is null and overruled_reaction is not null;
create index concurrently if not exists replies_strategy on replies (tenant, project, answer_strategy, occurred_at desc)
    where value is not null and answer_strategy <> '';
create index concurrently if not exists replies_thread on replies (tenant, project, answer_thread, occurred_at desc)
    where value is not null and answer_thread <> '';
create index concurrently if not exists replies_without_copy on replies (tenant, project, occurred_at desc)
    where answer_attributes is null and value is not null;
-- Replies on the turn of a changed answer.
create index concurrently if not exists replies_turn on replies (conversation_id, turn_id);
-- Replies of a window are counted without reading their rows.
create index concurrently if not exists replies_counted on replies (tenant, project, occurred_at)
    where value is not null and feedback_type = 'implicit';
-- Days with verdicts of people on turns that the machine judged, too: few counts among those of all verdicts.
create index concurrently if not exists rollups_judged on rollups (tenant, project, start)
    where grain = 'judgement day' and kind <> 'verdict';
-- A frequent word matches hundreds of thousands of texts. In less memory their bitmap keeps pages instead of rows, and each
-- text of these pages would be divided into words again.
alter function feedback_about set work_mem = '64MB';
