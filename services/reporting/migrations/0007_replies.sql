-- compatible_from: 0001
-- Replies are listed and counted for nothing. A table of their own: whatever reads `feedbacks`, in this release or the one
-- before, needs no condition against them, and its triggers have nothing to note.
create table replies (like feedbacks including defaults, primary key (feedback_id));
comment on table replies is 'Every reply to an answer, at its highest revision; a null value is a deleted reply. Columns as in feedbacks';
create index replies_conversation on replies (tenant, project, conversation_id, occurred_at, feedback_id);
create index replies_time on replies (tenant, project, occurred_at desc, feedback_id desc) where value is not null;
create index replies_user on replies (tenant, project, user_id, occurred_at desc) where value is not null;
create index replies_agent on replies (tenant, project, agent_id, occurred_at desc) where value is not null;
create index replies_version on replies (tenant, project, agent_version, occurred_at desc)
    where value is not null and agent_version is not null;
create index replies_written on replies (tenant, project, written_by);

create view live_replies as select * from replies where value is not null;
comment on view live_replies is 'The replies that are shown; none is a verdict';
