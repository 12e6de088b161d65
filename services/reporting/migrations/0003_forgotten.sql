create table forgotten (
    feedback_id uuid primary key,
    revision bigint not null
);
comment on table forgotten is
    'Feedbacks whose person was forgotten, with the revision of that: an older announcement may come again.';
