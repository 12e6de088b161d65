-- Tables of reporting after all migrations, made by `make docs`. The service applies services/reporting/migrations.
-- The table `migrations` has the applied files.

-- Who read transcripts, exported, erased, or changed alert rules, views or access. One row for all readings of a
-- conversation by one caller in an hour
create table access_log (
    id bigint not null generated always as identity,
    -- Time in microseconds
    at bigint not null,
    tenant text not null,
    -- Null: the whole tenant
    project text,
    -- Subject of the token, account or key
    actor text not null,
    action text not null,
    -- The conversation, the format of an export, the id of an erasure request, the name of a rule, or what was
    -- changed in the views or the access
    about text not null,
    primary key (id, tenant),
    check (action = any (array['read', 'exported', 'erased', 'changed rule', 'changed access', 'changed view'])) not valid
);
create index access_log_at on access_log (at);
create unique index access_log_erased on access_log (tenant, about) where action = 'erased';
create unique index access_log_read on access_log (actor, about, tenant, project, (at / '3600000000'::bigint)) where action = 'read';
create index access_log_tenant on access_log (tenant, at desc);

-- Argon2 hash of each password, and SHA-256 of the unused link to set one
create table account_secrets (
    name text not null,
    password_hash text,
    link_hash bytea,
    link_expires_at bigint,
    primary key (name),
    foreign key (name) references accounts(name) on delete cascade
);
create index account_secrets_of_link on account_secrets (link_hash) where link_hash is not null;

-- Signed-in browsers: SHA-256 of the cookie
create table account_sessions (
    session_hash bytea not null,
    name text not null,
    created_at bigint not null,
    -- End of a session that began with the identity provider, in microseconds; null for one with a password
    expires_at bigint,
    primary key (session_hash),
    foreign key (name) references accounts(name) on delete cascade
);
create index account_sessions_of_account on account_sessions (name);

-- Operators who sign in with a password or an identity provider. Times are in microseconds
create table accounts (
    name text not null,
    -- The tenant whose projects the account may use; * means all tenants
    tenant text not null,
    -- Names of projects; only * means all of the tenant
    projects text[] not null,
    role text not null,
    created_at bigint not null,
    created_by text not null,
    -- Time of the last change of the password; null until the first one is set
    password_at bigint,
    disabled_at bigint,
    -- The identity provider; null for an account with a password
    issuer text,
    -- Id of the person at the identity provider
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

-- Incoming webhooks of Slack that were set on the page of alerts; channels of the file are not here
create table alert_channels (
    tenant text not null,
    project text not null,
    name text not null,
    -- The secret URL, encrypted with REPORTING_SECRET_KEY (Fernet)
    url bytea not null,
    -- Base URL of the pages, for links
    address text not null,
    -- True if the URL may be http, or outside of the public Internet
    private boolean not null,
    -- Time in microseconds
    changed_at bigint not null,
    changed_by text not null,
    primary key (tenant, project, name)
);

-- Periods whose digest was written, so that each is sent once
create table alert_digests (
    tenant text not null,
    project text not null,
    period_end bigint not null,
    primary key (tenant, project, period_end)
);

-- Announcements that a channel has not accepted yet; dead ones are not retried
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

-- Alert rules that were set on the page or over HTTP, as JSON; those of the file are not here
create table alert_rules (
    tenant text not null,
    project text not null,
    name text not null,
    rule text not null,
    changed_at bigint not null,
    primary key (tenant, project, name)
);

-- Alerts that are open, and those that are over
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
    -- The finding that opened the alert, as JSON
    finding text not null,
    -- The issue that the alert is about; null: the agent, its version, the project or the platform
    issue bigint,
    primary key (id)
);
create unique index alerts_open on alerts (coalesce(tenant, ''), coalesce(project, ''), rule, kind, coalesce(agent, ''), coalesce(version, ''), coalesce(issue, 0::bigint)) where over_at is null;
create index alerts_project on alerts (tenant, project, opened_at desc);

-- Keys of programs. A revoked key has no row. Times are in microseconds
create table api_keys (
    id uuid not null,
    name text not null,
    -- SHA-256 of the key
    key_hash bytea not null,
    tenant text not null,
    projects text[] not null,
    scopes text[] not null,
    created_at bigint not null,
    created_by text not null,
    expires_at bigint not null,
    -- Time of the last use, to the minute
    used_at bigint,
    primary key (id),
    check (cardinality(projects) > 0),
    check (tenant <> '*' or projects = array['*'])
);
create index api_keys_by_hash on api_keys (key_hash);
create index api_keys_of_tenant on api_keys (tenant, name);

-- The object store that artifacts are replicated to, and whether turn logs are included. At most one row
create table artifact_store (
    url text not null,
    turn_logs boolean not null,
    -- Tenant, project and conversation up to which turns older than the store are marked; null once all are
    marked_to text[]
);

-- Answers drawn at random for review. Only their reviews measure the machine. A rebuild of the reports keeps
-- them
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

-- The PostgreSQL cluster whose transaction ids written_by holds; another cluster counts anew. One row
create table database_server (
    system_identifier bigint not null
);

-- Events that webhook receivers have not accepted yet; dead ones are no longer retried
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

-- Erased people and the time of each erasure; read before and after a write of their text
create table erasures (
    tenant text not null,
    user_id text not null,
    request_id text not null,
    erased_at bigint not null,
    primary key (tenant, user_id)
);

-- Every feedback record that can count, at its highest revision; a null reaction is cleared
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
    -- The machine's verdict that a reviewer judges; null on other records
    reviews text,
    -- Of an overruled machine verdict: the review that counts in its place
    overruled_by uuid,
    -- Of an overruled machine verdict: the machine's reaction; it counts for nothing
    overruled_reaction text,
    -- Of a machine's verdict: the detector's version; null if release 0.1.0 judged
    detector text,
    -- Of a machine's verdict: rules, learned or llm
    decided_by text,
    -- Rating of the answer, from worst_rating to best_rating; null for other feedback
    rating smallint,
    scale text,
    worst_rating smallint,
    best_rating smallint,
    -- Why the verdict does not count: burst, rate or reviewer; null if it is not suspect
    suspect text,
    -- Copy of the answer's strategy, empty without one; null as answer_attributes
    answer_strategy text,
    -- Copy of the answer's thread, empty without one; null as answer_attributes
    answer_thread text,
    -- Copy of the answer's attributes, {} without any; null if the answer was not known when the record was written,
    -- or not copied yet
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
create index feedbacks_turn on feedbacks (conversation_id, turn_id, origin) where reaction is not null;
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

-- Erased feedback records and the revision of the erasure: an older announcement may come again
create table forgotten (
    feedback_id uuid not null,
    revision bigint not null,
    written_by xid8 not null default pg_current_xact_id(),
    primary key (feedback_id)
);
create index forgotten_written on forgotten (written_by);

-- Erasure receipts that wait until the artifact store has deleted the objects
create table held_receipts (
    id bigint not null generated always as identity,
    tenant text not null,
    topic text not null,
    key text not null,
    value bytea not null,
    headers text not null,
    primary key (id, tenant)
);

-- Every object that may be in the artifact store, inserted before it is written; no text
create table hosted_artifacts (
    name text not null,
    tenant text not null,
    project text not null,
    conversation_id text not null,
    turn_id text not null,
    artifact text not null,
    digest bytea,
    -- writing; current; doomed: to be deleted; late: deleted, and again at due_at, since a write may arrive late
    state text not null,
    due_at bigint,
    primary key (name)
);
create index hosted_artifacts_doomed on hosted_artifacts (state, due_at) where state = any (array['doomed', 'late']);
create index hosted_artifacts_turn on hosted_artifacts (tenant, project, conversation_id, turn_id);

-- People and turns whose controls for judging they saw, each at its first time; a rebuild keeps them
create table impressions (
    -- The slot of the person's feedback on the turn, as in feedbacks
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

-- Last grouping of an agent's rejected turns, and the number of turns that it left without issue
create table issue_agents (
    tenant text not null,
    project text not null,
    agent_id text not null,
    grouped_at bigint not null,
    left_waiting integer not null,
    primary key (tenant, project, agent_id)
);

-- Answered turns on the topic of an issue by version and day, and how many of them are its rejected turns
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

-- Turns whose rejection counts, with vectors and words of their texts; a turn without issue waits for one
create table issue_turns (
    tenant text not null,
    project text not null,
    conversation_id text not null,
    turn_id text not null,
    agent_id text not null,
    agent_version text,
    -- Who rejected the answer
    user_id text not null,
    -- Who asked the question; null if unknown
    asker_id text,
    by_person boolean not null,
    -- Time of the rejection
    occurred_at bigint not null,
    -- Time of the question, or of the rejection if the question is unknown
    asked_at bigint not null,
    encoder text not null,
    vector bytea not null,
    question bytea not null,
    words text[] not null,
    issue_id bigint,
    -- Similarity to the issue's centre
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

-- First answer of each version of an agent with issues: orders the versions
create table issue_versions (
    tenant text not null,
    project text not null,
    agent_id text not null,
    agent_version text not null,
    first_at bigint not null,
    primary key (agent_id, agent_version, tenant, project)
);

-- Topics of rejected turns by agent; turns, people, first_at, last_at and versions count issue_turns
create table issues (
    id bigint not null generated always as identity,
    tenant text not null,
    project text not null,
    agent_id text not null,
    encoder text not null,
    -- Mean vector of its turns; derived from people's texts
    centre bytea,
    -- Mean vector of its questions
    topic bytea,
    -- Minimum similarity to the centre at which another turn joins
    radius real not null default 1,
    topic_radius real not null default 1,
    words text[] not null default '{}',
    -- open, resolved, muted, regressed
    state text not null default 'open',
    resolved_in text,
    -- Time of the last change of the state
    state_at bigint not null,
    assignee text,
    note text,
    merged_into bigint,
    turns integer not null default 0,
    people integer not null default 0,
    first_at bigint,
    last_at bigint,
    versions text[] not null default '{}',
    -- Number of times that the issue was resolved
    resolution integer not null default 0,
    -- Time of the last resolution
    resolved_at bigint,
    well_received_conversations text[] not null default '{}',
    -- Turns on the topic whose answers were accepted, nearest first, as of the last daily count; with their
    -- conversations
    well_received_turns text[] not null default '{}',
    -- Title by a language model; derived from people's texts
    sentence text,
    -- Distinctive words of the issue when its sentence was made
    sentence_words text[] not null default '{}',
    sentence_conversations text[] not null default '{}',
    -- Turns from whose texts the sentence was made; with their conversations
    sentence_turns text[] not null default '{}',
    -- Time before which the model is not asked again: its last question has failed or is under way
    sentence_due bigint,
    -- Number of people with one of the agent's newest verdicts, at the last count
    verdict_people integer not null default 0,
    -- Number of these people with a rejection of a turn of the issue among these verdicts
    affected integer not null default 0,
    -- True until the people are counted after a change of the issue's turns
    affected_due boolean not null default true,
    primary key (id),
    foreign key (merged_into) references issues(id)
);
create index issues_agent on issues (tenant, project, agent_id);
create index issues_resolved on issues (resolved_at) where state = 'resolved';

-- The outcome of ignored and dead-lettered records, by event and message id
create table journal (
    event_id text not null,
    -- The record's coordinates, topic:partition:offset
    at text not null,
    tenant text not null,
    project text not null,
    -- The coordinates of the chat record that it derives from; null if it is one itself
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
    -- Empty for an erased person
    sender_id text not null,
    user_type text,
    agent_id text,
    content text not null,
    -- Position in the conversation: the time of the earliest version
    occurred_at bigint not null,
    sequence bigint not null,
    intent text,
    strategy text,
    track_id text,
    bundle_id text,
    -- Orders the versions of a message: the greatest is kept
    version bytea not null,
    agent_version text,
    model text,
    trace_id text,
    -- The message it answers, if the chat says so: exports join answer and request by it
    reply_to text,
    -- The thread that it stands in; empty: the channel
    thread text not null default '',
    -- Time of the version that is kept, in microseconds: a part of `version`
    said_at bigint not null generated always as (((('x' || encode(substring(version from 2 for 8), 'hex')))::bit(64))::bigint) stored,
    -- Of an answer: the attributes by which answers are compared, as names and texts; null without any
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

-- Turns whose rejection may have begun or ceased to count since they were looked at
create table rejection_changes (
    id bigint not null generated always as identity,
    tenant text not null,
    project text not null,
    conversation_id text not null,
    turn_id text not null,
    primary key (id, tenant)
);

-- Feedback that is not a verdict, at its highest revision: replies to answers, and ratings on own scales; a null
-- value is retracted. Columns as in feedbacks
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
    -- Name of the project's own scale, for a rating; null for a reply
    scale text,
    worst_rating smallint,
    best_rating smallint,
    -- Always null: no rule marks other feedback
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

-- Who is told, or was told, that an issue was resolved, as in feedback.resolved
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
    -- Time of the person's last rejection before the resolution
    rejected_at bigint not null,
    turn_count integer not null,
    conversation_ids text[] not null,
    turn_ids text[] not null,
    announced boolean not null default false,
    primary key (issue_id, resolution, user_id)
);
create index resolution_notices_of_person on resolution_notices (user_id, tenant);
create index resolution_notices_to_announce on resolution_notices (resolved_at) where not announced;

-- Counts of effective reactions; invalid for the hours in stale_hours, and their days
create table rollups (
    tenant text not null,
    project text not null,
    -- hour, day: by agent, version and model; total: hours of all agents; reason hour, reason day: by reason as
    -- well; judgement hour, judgement day: the machine's verdicts by confidence; dimension hour, dimension day: by
    -- dimension and value
    grain text not null,
    start bigint not null,
    origin text not null,
    agent_id text,
    agent_version text,
    model text,
    -- Of a reason: tag, rule or correction_type. Of judgements: verdict, for counts of the machine's verdicts; or
    -- the machine's verdict, for counts of people's reactions on the same turns. Of dimensions: the dimension
    kind text,
    -- The reason; of judgements the twentieth of confidence, 0 to 19; of dimensions the value
    reason text,
    ok integer not null,
    neutral integer not null,
    not_ok integer not null,
    -- Sum of the confidences of the counted records; of judgements the machine's, once for each pair
    confidence double precision not null
);
create index rollups_agent on rollups (tenant, project, agent_id, start) where grain = 'hour';
create index rollups_agent_days on rollups (tenant, project, agent_id, grain, start) where grain = any (array['day', 'reason day', 'judgement day', 'dimension day']);
create index rollups_choices on rollups (tenant, project, kind, reason, agent_id, start) where grain = 'dimension day';
create index rollups_dimension on rollups (tenant, project, grain, kind, start) where grain = any (array['dimension hour', 'dimension day']);
create index rollups_judged on rollups (tenant, project, start) where grain = 'judgement day' and kind <> 'verdict';
create index rollups_start on rollups (tenant, project, grain, start);

-- Pages with filters that readers of a project saved under a name
create table saved_views (
    id bigint not null generated always as identity,
    tenant text not null,
    project text not null,
    name text not null,
    -- Path of the page
    page text not null,
    -- Its filters as a query string, without tenant and project, positions in lists, and ids of people
    query text not null,
    -- Time in microseconds
    created_at bigint not null,
    -- Subject of the token, account or key
    created_by text not null,
    primary key (id, tenant),
    unique (tenant, project, name),
    check (length(name) >= 1 and length(name) <= 80),
    check (length(query) <= 2000)
);

-- Session ratings of a tenant, without the person; a session names no project
create table sessions (
    tenant text not null,
    id uuid not null,
    recorded_at bigint not null,
    label text not null,
    turns integer not null,
    primary key (tenant, id)
);
create index sessions_time on sessions (tenant, recorded_at);

-- Failed attempts within a window since `since`, by SHA-256 of a name or an address
create table sign_in_attempts (
    subject bytea not null,
    failures integer not null,
    since bigint not null,
    primary key (subject)
);

-- Hours whose feedback has changed since they were counted
create table stale_hours (
    tenant text not null,
    project text not null,
    hour bigint not null,
    marked_at timestamp with time zone not null default clock_timestamp(),
    written_by xid8 not null default pg_current_xact_id()
);
create index stale_hours_hour on stale_hours (tenant, project, hour);

-- Turns whose artifacts have changed since they were replicated
create table stale_turns (
    id bigint not null generated always as identity,
    tenant text not null,
    project text not null,
    conversation_id text not null,
    turn_id text not null,
    primary key (id, tenant)
);

-- Minutes in which verdicts of a person have changed since the rules were applied
create table suspect_changes (
    id bigint not null generated always as identity,
    tenant text not null,
    project text not null,
    user_id text not null,
    minute bigint not null,
    primary key (id, tenant)
);

-- Decisions of reviewers on suspect verdicts; they stand against the rules
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
-- Artifacts of a conversation: effective reactions and turn logs
-- view effective: migrations/0032_answer_copies.sql
-- The reactions that count: live, and of a person's on a turn, as of the reviews of a turn, the newest (a
-- person's explicit null is newest as well)
-- view effective_or_overruled: migrations/0032_answer_copies.sql
-- What counts, and the machine's verdicts that reviews have overruled, with the machine's reaction
-- view effective_or_review: migrations/0001_schema.sql
-- Reactions that count, and reviewers' judgements of the machine's verdicts
-- view effective_or_suspect: migrations/0032_answer_copies.sql
-- The reactions that count, and the suspect ones that would
-- view live_replies: migrations/0032_answer_copies.sql
-- Feedback that is shown and is not a verdict
-- view reaction_artifacts: migrations/0001_schema.sql
-- view suspected: migrations/0032_answer_copies.sql
-- Suspect reactions that would count
-- view turn_log_artifacts: migrations/0001_schema.sql
-- function copy_answer: migrations/0042_answers_by_turn.sql
-- function feedback_about: migrations/0039_whole_words_first.sql
-- function mark_hours_of_replies: migrations/0032_answer_copies.sql
-- function mark_rejections: migrations/0011_issues.sql
-- function mark_stale_dimensions: migrations/0032_answer_copies.sql
-- function mark_stale_hours: migrations/0002_reviews.sql
-- function mark_stale_turns: migrations/0001_schema.sql
-- function mark_suspect_changes: migrations/0019_suspects.sql
-- function mark_suspect_updates: migrations/0019_suspects.sql
-- function rfc3339: migrations/0001_schema.sql
-- function search_pairs: migrations/0020_search.sql
-- function search_terms: migrations/0020_search.sql
