-- compatible_from: 0001
-- concurrently
-- Strategy, thread and attributes of the answer that a feedback record is about, copied to the record: filters by them
-- need no lookup per row. Adding a column excludes readers for a moment. A transaction that then replaces views would wait
-- for readers that hold a view and wait for the table.
alter table feedbacks
    add column if not exists answer_strategy text, add column if not exists answer_thread text,
    add column if not exists answer_attributes jsonb;
alter table replies
    add column if not exists answer_strategy text, add column if not exists answer_thread text,
    add column if not exists answer_attributes jsonb;
comment on column feedbacks.answer_attributes is
    'Copy of the answer''s attributes, {} without any; null if the answer was not known when the record was written, or not copied yet';
comment on column feedbacks.answer_strategy is 'Copy of the answer''s strategy, empty without one; null as answer_attributes';
comment on column feedbacks.answer_thread is 'Copy of the answer''s thread, empty without one; null as answer_attributes';
