-- compatible_from: 0001
alter table issues
    add column well_received_conversations text[] not null default '{}',
    add column well_received_turns text[] not null default '{}';
comment on column issues.well_received_turns is
    'Turns on the topic whose answers were accepted, nearest first, as of the last daily count; with their conversations';
