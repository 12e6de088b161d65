-- compatible_from: 0001
alter table issues
    add column sentence text,
    add column sentence_words text[] not null default '{}',
    add column sentence_conversations text[] not null default '{}',
    add column sentence_turns text[] not null default '{}',
    add column sentence_due bigint;
comment on column issues.sentence is 'Title by a language model; derived from people''s texts';
comment on column issues.sentence_words is 'Distinctive words of the issue when its sentence was made';
comment on column issues.sentence_turns is 'Turns from whose texts the sentence was made; with their conversations';
comment on column issues.sentence_due is 'Time before which the model is not asked again: its last question has failed or is under way';
