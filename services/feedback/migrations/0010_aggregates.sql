-- compatible_from: 0001
-- Sums of the verdicts on a turn, for feedback.aggregated. Without the setting the tables stay empty.
create table aggregated_verdicts (
    feedback_id uuid primary key,
    revision bigint not null,
    tenant text,
    project text,
    conversation_id text,
    turn_id text,
    agent_id text,
    user_id text,
    origin text,
    feedback_type text,
    reaction text,
    value double precision,
    occurred_at bigint
);
create index aggregated_verdicts_on_turn on aggregated_verdicts (conversation_id, turn_id, tenant, project)
    where user_id is not null;
create index aggregated_verdicts_of_person on aggregated_verdicts (user_id, tenant) where user_id is not null;
comment on table aggregated_verdicts is 'The verdicts of feedback.created, each at its highest revision';
comment on column aggregated_verdicts.user_id is 'Null, like all after the revision, once the record was erased';

create table aggregated_turns (
    tenant text not null,
    project text not null,
    conversation_id text not null,
    turn_id text not null,
    changes bigint not null,
    changed_at timestamptz not null default clock_timestamp(),
    primary key (conversation_id, turn_id, tenant, project)
);
comment on table aggregated_turns is 'Turns whose verdicts have changed since they were summed up';

create table aggregates (
    aggregate_id uuid primary key,
    revision bigint not null,
    created_revision bigint not null,
    tenant text not null,
    project text not null,
    conversation_id text not null,
    turn_id text not null,
    agent_id text not null,
    occurred_at bigint not null,
    verdicts bigint not null,
    mean double precision,
    low double precision,
    high double precision,
    announced boolean not null default false
);
create index aggregates_of_turn on aggregates (conversation_id, turn_id, tenant, project);
create index aggregates_to_announce on aggregates (aggregate_id) where not announced;
comment on table aggregates is 'The sum of the verdicts on each agent''s answers in a turn, as it is announced';
