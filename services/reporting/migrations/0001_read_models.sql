-- Times are microseconds since the epoch. Ids hold up to 1 KiB each, so no index spans more than two of them.

create table feedbacks (
    feedback_id uuid primary key,
    revision bigint not null,
    recorded_at bigint not null,
    -- What at most one reaction counts for: a person's turn. A machine's record is a slot of its own.
    slot uuid not null,
    tenant text not null,
    project text not null,
    conversation_id text not null,
    turn_id text not null,
    user_id text not null,
    user_type text not null,
    agent_id text not null,
    agent_message_id text,
    origin text not null,
    feedback_type text not null,
    source text not null,
    reaction text,
    value double precision,
    confidence double precision not null,
    text text,
    tags text[] not null,
    correction text,
    emoji text,
    correction_type text,
    occurred_at bigint not null,
    rn text not null,
    track_id text,
    bundle_id text,
    agent_version text,
    model text,
    trace_id text,
    -- The transaction that wrote the row: paging tells by it what has changed since its first page.
    written_by xid8 not null default pg_current_xact_id()
);
comment on table feedbacks is 'Every feedback that can count, at its highest revision; a null reaction is a cleared one.';

create index feedbacks_slot on feedbacks (slot, occurred_at, feedback_id)
    where feedback_type = 'explicit' or reaction is not null;
create index feedbacks_conversation on feedbacks (tenant, project, conversation_id, turn_id);
create index feedbacks_time on feedbacks (tenant, project, occurred_at desc, conversation_id)
    where reaction is not null;
create index feedbacks_user on feedbacks (tenant, project, user_id, occurred_at desc) where reaction is not null;
create index feedbacks_recorded on feedbacks (tenant, project, recorded_at desc);

create view effective as
select f.*
from feedbacks f
where f.reaction is not null
  and not exists (
    select from feedbacks newer
    where newer.slot = f.slot
      and (newer.feedback_type = 'explicit' or newer.reaction is not null)
      and (newer.occurred_at, newer.feedback_id) > (f.occurred_at, f.feedback_id)
  );
comment on view effective is
    'The reactions that count: live, and the newest of their slot, where an explicit null is newest as well.';

create table messages (
    tenant text not null,
    project text not null,
    message_id text not null,
    conversation_id text not null,
    turn_id text,
    sender_type text not null,
    sender_id text not null,
    user_type text,
    agent_id text,
    content text not null,
    occurred_at bigint not null,
    sequence bigint not null,
    intent text,
    strategy text,
    track_id text,
    bundle_id text,
    primary key (message_id, tenant, project)
);
create index messages_conversation on messages (conversation_id, tenant, project, occurred_at, sequence);
create index messages_turn on messages (tenant, project, conversation_id, turn_id);
create index messages_person on messages (tenant, project, sender_id) where sender_type = 'human';
