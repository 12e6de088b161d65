-- Emoji are people's verdicts, too.
alter table explicit_feedback rename to user_reactions;
alter index explicit_feedback_on_turn rename to user_reactions_on_turn;
alter index explicit_feedback_of_person rename to user_reactions_of_person;
alter table user_reactions add column explicit boolean not null default true;
alter table user_reactions alter column explicit drop default;
comment on table user_reactions is
    'Each person''s explicit feedback and emoji on a turn at its highest revision; status null once taken back';

alter table turns rename column explicit_status to user_status;
alter table turns rename column explicit_feedback_id to user_feedback_id;
