-- Tables of reporting after all migrations, made by `make docs`. The service applies services/reporting/migrations.
-- The table `migrations` has the applied files.

create table access_log (
    id bigint not null generated always as identity,
    at bigint not null,
    tenant text not null,
    project text,
    actor text not null,
    action text not null,
    about text not null,
    primary key (id, tenant),
    check (action = any (array['read', 'exported', 'erased', 'changed rule', 'changed access', 'changed view']))
);
create index access_log_at on access_log (at);
create unique index access_log_erased on access_log (tenant, about) where action = 'erased';
create unique index access_log_read on access_log (actor, about, tenant, project, (at / '3600000000'::bigint)) where action = 'read';
create index access_log_tenant on access_log (tenant, at desc);

create table account_secrets (
    name text not null,
    password_hash text,
    link_hash bytea,
    link_expires_at bigint,
    primary key (name),
    foreign key (name) references accounts(name) on delete cascade
);
create index account_secrets_of_link on account_secrets (link_hash) where link_hash is not null;

create table account_sessions (
    session_hash bytea not null,
    name text not null,
    created_at bigint not null,
    expires_at bigint,
    primary key (session_hash),
    foreign key (name) references accounts(name) on delete cascade
);
create index account_sessions_of_account on account_sessions (name);

create table accounts (
    name text not null,
    tenant text not null,
    projects text[] not null,
    role text not null,
    created_at bigint not null,
    created_by text not null,
    password_at bigint,
    disabled_at bigint,
    issuer text,
    subject text,
    primary key (name),
    check ((issuer is null) = (subject is null)),
    check (cardinality(projects) > 0),
    check (name ~ '^[a-z0-9][a-z0-9._@+-]{0,99}$'),
    check (role = any (array['reader', 'reviewer', 'operator', 'admin'])),
    check (tenant <> '*' or projects = array['*'])
);
create unique index accounts_of_subject on accounts (issuer, subject) where issuer is not null;
create index accounts_of_tenant on accounts (tenant, name);

create table alert_channels (
    tenant text not null,
    project text not null,
    name text not null,
    url bytea not null,
    address text not null,
    private boolean not null,
    changed_at bigint not null,
    changed_by text not null,
    primary key (tenant, project, name)
);

create table alert_digests (
    tenant text not null,
    project text not null,
    period_end bigint not null,
    primary key (tenant, project, period_end)
);

create table alert_messages (
    id uuid not null,
    position bigint not null generated always as identity,
    channel text not null,
    tenant text,
    project text,
    key text not null,
    message text not null,
    created_at bigint not null,
    next_at bigint not null,
    attempts integer not null default 0,
    dead boolean not null default false,
    last_answer text,
    primary key (id)
);
create index alert_messages_due on alert_messages (next_at) where not dead;

create table alert_rules (
    tenant text not null,
    project text not null,
    name text not null,
    rule text not null,
    changed_at bigint not null,
    primary key (tenant, project, name)
);

create table alerts (
    id uuid not null,
    tenant text,
    project text,
    rule text not null,
    kind text not null,
    agent text,
    version text,
    opened_at bigint not null,
    over_at bigint,
    title text not null,
    path text not null,
    channels text[] not null,
    finding text not null,
    issue bigint,
    primary key (id)
);
create unique index alerts_open on alerts (coalesce(tenant, ''), coalesce(project, ''), rule, kind, coalesce(agent, ''), coalesce(version, ''), coalesce(issue, 0::bigint)) where over_at is null;
create index alerts_project on alerts (tenant, project, opened_at desc);

create table api_keys (
    id uuid not null,
    name text not null,
    key_hash bytea not null,
    tenant text not null,
    projects text[] not null,
    scopes text[] not null,
    created_at bigint not null,
    created_by text not null,
    expires_at bigint not null,
    used_at bigint,
    primary key (id),
    check (cardinality(projects) > 0),
    check (tenant <> '*' or projects = array['*'])
);
create index api_keys_by_hash on api_keys (key_hash);
create index api_keys_of_tenant on api_keys (tenant, name);

create table artifact_store (
    url text not null,
    turn_logs boolean not null,
    marked_to text[]
);

create table audit_draws (
    id bigint not null generated always as identity,
    tenant text not null,
    project text not null,
    conversation_id text not null,
    turn_id text not null,
    drawn_at bigint not null,
    primary key (id, tenant)
);
create index audit_draws_project on audit_draws (tenant, project, id);
create unique index audit_draws_turn on audit_draws (conversation_id, turn_id, tenant, project);

create table database_server (
    system_identifier bigint not null
);

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
    traceparent text,
    primary key (endpoint, subject)
);
create index deliveries_age on deliveries (created_at);
create index deliveries_due on deliveries (endpoint, next_at) where not dead;
create index deliveries_person on deliveries (user_id, tenant) where user_id is not null;
create index deliveries_subject on deliveries (subject);

create table erasures (
    tenant text not null,
    user_id text not null,
    request_id text not null,
    erased_at bigint not null,
    primary key (tenant, user_id)
);

create table feedbacks (
    feedback_id uuid not null,
    revision bigint not null,
    recorded_at bigint not null,
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
    written_by xid8 not null default pg_current_xact_id(),
    intent text,
    reviews text,
    overruled_by uuid,
    overruled_reaction text,
    detector text,
    decided_by text,
    rating smallint,
    scale text,
    worst_rating smallint,
    best_rating smallint,
    suspect text,
    answer_strategy text,
    answer_thread text,
    answer_attributes jsonb,
    primary key (feedback_id)
);
create index feedbacks_agent on feedbacks (tenant, project, agent_id, occurred_at desc) where reaction is not null;
create index feedbacks_agent_rejected on feedbacks (tenant, project, agent_id, occurred_at desc) where reaction = 'not_ok';
create index feedbacks_conversation on feedbacks (tenant, project, conversation_id, occurred_at, feedback_id);
create index feedbacks_correction_type on feedbacks (tenant, project, correction_type, occurred_at desc) where reaction is not null and correction_type is not null;
create index feedbacks_giver on feedbacks (user_id, occurred_at) where reaction is not null and origin = 'user';
create index feedbacks_judged on feedbacks (conversation_id, turn_id, origin) where reaction is not null or overruled_reaction is not null;
create index feedbacks_of_detector on feedbacks (tenant, project, occurred_at, detector, decided_by) where origin = 'machine' and (reaction is not null or overruled_reaction is not null);
create index feedbacks_overruled on feedbacks (tenant, project, occurred_at) where overruled_reaction is not null;
create index feedbacks_rated on feedbacks (tenant, project, occurred_at) where rating is not null;
create index feedbacks_reasons on feedbacks (tenant, project, occurred_at desc) where reaction is not null and (correction_type is not null or origin <> 'machine' and tags <> '{}');
create index feedbacks_slot on feedbacks (slot, occurred_at, feedback_id) where feedback_type = 'explicit' or reaction is not null;
create index feedbacks_strategy on feedbacks (tenant, project, answer_strategy, occurred_at desc) where reaction is not null and answer_strategy <> '';
create index feedbacks_suspect on feedbacks (tenant, project, occurred_at desc) where suspect is not null;
create index feedbacks_tags on feedbacks using gin (tags) where tags <> '{}';
create index feedbacks_terms on feedbacks using gin (search_terms(tenant, project, (coalesce(text, '') || ' ') || coalesce(correction, ''))) where text is not null or correction is not null;
create index feedbacks_thread on feedbacks (tenant, project, answer_thread, occurred_at desc) where reaction is not null and answer_thread <> '';
create index feedbacks_time on feedbacks (tenant, project, occurred_at desc, conversation_id) where reaction is not null;
create index feedbacks_user on feedbacks (tenant, project, user_id, occurred_at desc) where reaction is not null;
create index feedbacks_version on feedbacks (tenant, project, agent_version, occurred_at desc) where reaction is not null and agent_version is not null;
create index feedbacks_without_copy on feedbacks (tenant, project, occurred_at desc) where answer_attributes is null and reaction is not null;
create index feedbacks_written on feedbacks (tenant, project, written_by);
create index overruled_without_copy on feedbacks (tenant, project, occurred_at desc) where answer_attributes is null and overruled_reaction is not null;
-- After delete, insert, update: mark_rejections()
-- After delete, insert, update: mark_stale_hours()
-- After delete, insert, update: mark_stale_turns()
-- After insert: mark_suspect_changes()
-- After update: mark_suspect_updates()
-- Before insert, update: copy_answer()

create table forgotten (
    feedback_id uuid not null,
    revision bigint not null,
    written_by xid8 not null default pg_current_xact_id(),
    primary key (feedback_id)
);
create index forgotten_written on forgotten (written_by);

create table held_receipts (
    id bigint not null generated always as identity,
    tenant text not null,
    topic text not null,
    key text not null,
    value bytea not null,
    headers text not null,
    primary key (id, tenant)
);

create table hosted_artifacts (
    name text not null,
    tenant text not null,
    project text not null,
    conversation_id text not null,
    turn_id text not null,
    artifact text not null,
    digest bytea,
    state text not null,
    due_at bigint,
    primary key (name)
);
create index hosted_artifacts_doomed on hosted_artifacts (state, due_at) where state = any (array['doomed', 'late']);
create index hosted_artifacts_turn on hosted_artifacts (tenant, project, conversation_id, turn_id);

create table impressions (
    slot uuid not null,
    tenant text not null,
    project text not null,
    conversation_id text not null,
    turn_id text not null,
    user_id text not null,
    agent_id text not null,
    agent_version text,
    model text,
    occurred_at bigint not null,
    primary key (slot, tenant)
);
create index impressions_by_age on impressions using brin (occurred_at);
create index impressions_time on impressions (tenant, project, occurred_at);
create index impressions_user on impressions (user_id, tenant);

create table issue_agents (
    tenant text not null,
    project text not null,
    agent_id text not null,
    grouped_at bigint not null,
    left_waiting integer not null,
    primary key (tenant, project, agent_id)
);

create table issue_counts (
    issue_id bigint not null,
    tenant text not null,
    project text not null,
    agent_version text,
    day bigint not null,
    turns integer not null,
    rejected integer not null,
    foreign key (issue_id) references issues(id) on delete cascade
);
create index issue_counts_issue on issue_counts (issue_id);

create table issue_turns (
    tenant text not null,
    project text not null,
    conversation_id text not null,
    turn_id text not null,
    agent_id text not null,
    agent_version text,
    user_id text not null,
    asker_id text,
    by_person boolean not null,
    occurred_at bigint not null,
    asked_at bigint not null,
    encoder text not null,
    vector bytea not null,
    question bytea not null,
    words text[] not null,
    issue_id bigint,
    nearness real,
    primary key (conversation_id, turn_id, tenant, project),
    foreign key (issue_id) references issues(id)
);
create index issue_turns_agent on issue_turns (tenant, project, agent_id, occurred_at);
create index issue_turns_asker on issue_turns (asker_id, tenant) where asker_id is not null;
create index issue_turns_issue on issue_turns (issue_id, occurred_at) include (user_id);
create index issue_turns_typical on issue_turns (issue_id, nearness desc nulls last, occurred_at desc);
create index issue_turns_user on issue_turns (user_id, tenant);
create index issue_turns_waiting on issue_turns (tenant, project, agent_id, occurred_at) where issue_id is null;

create table issue_versions (
    tenant text not null,
    project text not null,
    agent_id text not null,
    agent_version text not null,
    first_at bigint not null,
    primary key (agent_id, agent_version, tenant, project)
);

create table issues (
    id bigint not null generated always as identity,
    tenant text not null,
    project text not null,
    agent_id text not null,
    encoder text not null,
    centre bytea,
    topic bytea,
    radius real not null default 1,
    topic_radius real not null default 1,
    words text[] not null default '{}',
    state text not null default 'open',
    resolved_in text,
    state_at bigint not null,
    assignee text,
    note text,
    merged_into bigint,
    turns integer not null default 0,
    people integer not null default 0,
    first_at bigint,
    last_at bigint,
    versions text[] not null default '{}',
    resolution integer not null default 0,
    resolved_at bigint,
    well_received_conversations text[] not null default '{}',
    well_received_turns text[] not null default '{}',
    sentence text,
    sentence_words text[] not null default '{}',
    sentence_conversations text[] not null default '{}',
    sentence_turns text[] not null default '{}',
    sentence_due bigint,
    verdict_people integer not null default 0,
    affected integer not null default 0,
    affected_due boolean not null default true,
    primary key (id),
    foreign key (merged_into) references issues(id)
);
create index issues_agent on issues (tenant, project, agent_id);
create index issues_resolved on issues (resolved_at) where state = 'resolved';

create table journal (
    event_id text not null,
    at text not null,
    tenant text not null,
    project text not null,
    cause text,
    conversation_id text,
    message_id text,
    feedback_id uuid,
    outcome text not null,
    reason text not null,
    detail text not null,
    noted_at timestamp with time zone not null default now()
);
create index journal_by_age on journal using brin (noted_at);
create index journal_of_cause on journal (cause) where cause is not null;
create index journal_of_event on journal (event_id);
create index journal_of_message on journal (message_id);

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
    version bytea not null,
    agent_version text,
    model text,
    trace_id text,
    reply_to text,
    thread text not null default '',
    said_at bigint not null generated always as (((('x' || encode(substring(version from 2 for 8), 'hex')))::bit(64))::bigint) stored,
    attributes jsonb,
    primary key (message_id, conversation_id, tenant, project)
);
create index messages_answers on messages (tenant, project, occurred_at) where sender_type = 'agent';
create index messages_conversation on messages (conversation_id, tenant, project, occurred_at, sequence);
create index messages_of_thread on messages (conversation_id, tenant, project, hashtextextended(thread, 0::bigint), occurred_at, sequence);
create index messages_person on messages (sender_id, tenant, project) where sender_type = 'human';
create index messages_terms on messages using gin (search_terms(tenant, project, content));
create index messages_thread on messages (tenant, project, conversation_id, reply_to) where reply_to is not null;
create index messages_turn on messages (tenant, project, conversation_id, turn_id);
-- After delete, insert, update: mark_stale_dimensions()
-- After delete, insert, update: mark_stale_turns()

create table rejection_changes (
    id bigint not null generated always as identity,
    tenant text not null,
    project text not null,
    conversation_id text not null,
    turn_id text not null,
    primary key (id, tenant)
);

create table replies (
    feedback_id uuid not null,
    revision bigint not null,
    recorded_at bigint not null,
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
    written_by xid8 not null default pg_current_xact_id(),
    intent text,
    reviews text,
    overruled_by uuid,
    overruled_reaction text,
    detector text,
    decided_by text,
    rating smallint,
    scale text,
    worst_rating smallint,
    best_rating smallint,
    suspect text,
    answer_strategy text,
    answer_thread text,
    answer_attributes jsonb,
    primary key (feedback_id)
);
create index replies_agent on replies (tenant, project, agent_id, occurred_at desc) where value is not null;
create index replies_conversation on replies (tenant, project, conversation_id, occurred_at, feedback_id);
create index replies_counted on replies (tenant, project, occurred_at) where value is not null and feedback_type = 'implicit';
create index replies_rated on replies (tenant, project, occurred_at) where rating is not null;
create index replies_strategy on replies (tenant, project, answer_strategy, occurred_at desc) where value is not null and answer_strategy <> '';
create index replies_terms on replies using gin (search_terms(tenant, project, coalesce(text, ''))) where text is not null;
create index replies_thread on replies (tenant, project, answer_thread, occurred_at desc) where value is not null and answer_thread <> '';
create index replies_time on replies (tenant, project, occurred_at desc, feedback_id desc) where value is not null;
create index replies_turn on replies (conversation_id, turn_id);
create index replies_user on replies (tenant, project, user_id, occurred_at desc) where value is not null;
create index replies_version on replies (tenant, project, agent_version, occurred_at desc) where value is not null and agent_version is not null;
create index replies_without_copy on replies (tenant, project, occurred_at desc) where answer_attributes is null and value is not null;
create index replies_written on replies (tenant, project, written_by);
-- After insert, update: mark_hours_of_replies()
-- Before insert, update: copy_answer()

create table resolution_notices (
    issue_id bigint not null,
    resolution integer not null,
    user_id text not null,
    tenant text not null,
    project text not null,
    agent_id text not null,
    resolved_in text,
    resolved_at bigint not null,
    by_person boolean not null,
    rejected_at bigint not null,
    turn_count integer not null,
    conversation_ids text[] not null,
    turn_ids text[] not null,
    announced boolean not null default false,
    primary key (issue_id, resolution, user_id)
);
create index resolution_notices_of_person on resolution_notices (user_id, tenant);
create index resolution_notices_to_announce on resolution_notices (resolved_at) where not announced;

create table rollups (
    tenant text not null,
    project text not null,
    grain text not null,
    start bigint not null,
    origin text not null,
    agent_id text,
    agent_version text,
    model text,
    kind text,
    reason text,
    ok integer not null,
    neutral integer not null,
    not_ok integer not null,
    confidence double precision not null
);
create index rollups_agent on rollups (tenant, project, agent_id, start) where grain = 'hour';
create index rollups_agent_days on rollups (tenant, project, agent_id, grain, start) where grain = any (array['day', 'reason day', 'judgement day', 'dimension day']);
create index rollups_choices on rollups (tenant, project, kind, reason, agent_id, start) where grain = 'dimension day';
create index rollups_dimension on rollups (tenant, project, grain, kind, start) where grain = any (array['dimension hour', 'dimension day']);
create index rollups_judged on rollups (tenant, project, start) where grain = 'judgement day' and kind <> 'verdict';
create index rollups_start on rollups (tenant, project, grain, start);

create table saved_views (
    id bigint not null generated always as identity,
    tenant text not null,
    project text not null,
    name text not null,
    page text not null,
    query text not null,
    created_at bigint not null,
    created_by text not null,
    primary key (id, tenant),
    unique (tenant, project, name),
    check (length(name) >= 1 and length(name) <= 80),
    check (length(query) <= 2000)
);

create table sessions (
    tenant text not null,
    id uuid not null,
    recorded_at bigint not null,
    label text not null,
    turns integer not null,
    primary key (tenant, id)
);
create index sessions_time on sessions (tenant, recorded_at);

create table sign_in_attempts (
    subject bytea not null,
    failures integer not null,
    since bigint not null,
    primary key (subject)
);

create table stale_hours (
    tenant text not null,
    project text not null,
    hour bigint not null,
    marked_at timestamp with time zone not null default clock_timestamp(),
    written_by xid8 not null default pg_current_xact_id()
);
create index stale_hours_hour on stale_hours (tenant, project, hour);

create table stale_turns (
    id bigint not null generated always as identity,
    tenant text not null,
    project text not null,
    conversation_id text not null,
    turn_id text not null,
    primary key (id, tenant)
);

create table suspect_changes (
    id bigint not null generated always as identity,
    tenant text not null,
    project text not null,
    user_id text not null,
    minute bigint not null,
    primary key (id, tenant)
);

create table suspect_decisions (
    feedback_id uuid not null,
    tenant text not null,
    project text not null,
    suspect boolean not null,
    decided_by text not null,
    decided_at bigint not null,
    primary key (feedback_id)
);

-- view conv_messages: migrations/0001_schema.sql
-- view effective: migrations/0001_schema.sql
-- view effective_or_overruled: migrations/0001_schema.sql
-- view effective_or_suspect: migrations/0001_schema.sql
-- view live_replies: migrations/0001_schema.sql
-- view reaction_artifacts: migrations/0001_schema.sql
-- view suspected: migrations/0001_schema.sql
-- view turn_log_artifacts: migrations/0001_schema.sql
-- function copy_answer: migrations/0001_schema.sql
-- function feedback_about: migrations/0001_schema.sql
-- function mark_hours_of_replies: migrations/0001_schema.sql
-- function mark_rejections: migrations/0001_schema.sql
-- function mark_stale_dimensions: migrations/0001_schema.sql
-- function mark_stale_hours: migrations/0001_schema.sql
-- function mark_stale_turns: migrations/0001_schema.sql
-- function mark_suspect_changes: migrations/0001_schema.sql
-- function mark_suspect_updates: migrations/0001_schema.sql
-- function rfc3339: migrations/0001_schema.sql
-- function search_pairs: migrations/0001_schema.sql
-- function search_terms: migrations/0001_schema.sql
