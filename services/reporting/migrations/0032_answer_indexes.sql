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
