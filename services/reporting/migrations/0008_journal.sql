-- compatible_from: 0001
-- The outcome of each record that had no effect, for whoever asks where an event is; never content.
create table journal (
    event_id text not null,
    at text not null,
    tenant text not null,
    project text not null,
    cause text not null,
    conversation_id text,
    message_id text,
    feedback_id uuid,
    outcome text not null,
    reason text not null,
    detail text not null,
    noted_at timestamptz not null default now(),
    -- A log in memory begins anew with each run, so coordinates alone are not unique.
    primary key (event_id, at, tenant, project)
);
create index journal_of_message on journal (message_id, tenant, project);
create index journal_of_cause on journal (cause);
create index journal_by_age on journal using brin (noted_at);
comment on table journal is 'The outcome of ignored and dead-lettered records, by event and message id';
comment on column journal.at is 'The record''s coordinates, topic:partition:offset';
comment on column journal.cause is 'The coordinates of the chat record that it derives from; its own for a chat record';
