-- What webhooks are still to hand over. One row of a subject: a later revision takes an earlier one's place.
create table deliveries (
    endpoint text not null,
    subject text not null,
    event_id text not null,
    topic text not null,
    revision bigint not null,
    tenant text not null,
    user_id text,
    occurred_at bigint not null,
    event text not null,
    created_at bigint not null,
    next_at bigint not null,
    attempts integer not null default 0,
    dead boolean not null default false,
    last_answer text,
    primary key (endpoint, subject)
);
comment on table deliveries is 'Events that receivers of webhooks have not taken yet, and (dead) those given up';
create index deliveries_due on deliveries (endpoint, next_at) where not dead;
create index deliveries_person on deliveries (user_id, tenant) where user_id is not null;
create index deliveries_subject on deliveries (subject);
create index deliveries_age on deliveries (created_at);
