-- name: lock_issues
select pg_try_advisory_lock(hashtext('agent-feedback issues'))

-- name: unlock_issues
select pg_advisory_unlock(hashtext('agent-feedback issues'))

-- name: changed_rejections
-- Return changes of one project only: the project of the oldest change.
select id, tenant, project, conversation_id, turn_id from changed_turns
where reader = 'issues' and (tenant, project) = (
    select tenant, project from changed_turns where reader = 'issues' order by id limit 1)
order by id limit :limit

-- name: seed_rejection_changes
insert into changed_turns (reader, tenant, project, conversation_id, turn_id)
select distinct 'issues', tenant, project, conversation_id, turn_id from feedbacks f
where reaction = 'not_ok' and not exists (select from issue_turns) and not exists (
    select from changed_turns c
    where c.reader = 'issues' and c.conversation_id = f.conversation_id and c.turn_id = f.turn_id
      and c.tenant = f.tenant and c.project = f.project)

-- name: has_changed_turns
-- True if a rejection has changed, or an issue whose turns were erased needs another centre.
select exists (select from changed_turns where reader = 'issues') or exists (
    select from issues i where i.centre is null and exists (select from issue_turns t where t.issue_id = i.id))

-- name: drop_rejection_changes
delete from changed_turns where reader = 'issues'

-- name: delete_rejection_changes
delete from changed_turns where reader = 'issues' and id = any(:ids::bigint[])

-- name: rejections_of_turns
-- Verdicts of people and reviewers override machine verdicts. Among verdicts of equal rank, a rejection counts.
select * from (
    select distinct on (n.n) n.n, e.conversation_id, e.turn_id, e.agent_id, e.agent_version, e.answer_id,
        e.user_id, e.origin <> 'machine' as by_person, e.occurred_at, e.text, e.reaction
    from unnest(:n::int[], :conversation_id::text[], :turn_id::text[]) as n (n, conversation_id, turn_id)
    join effective e on e.conversation_id = n.conversation_id and e.turn_id = n.turn_id
      and e.tenant = :tenant and e.project = :project
    order by n.n, e.origin = 'machine', e.reaction <> 'not_ok', e.occurred_at desc, e.feedback_id desc
) standing where reaction = 'not_ok'

-- name: lock_erasures
-- Concurrent erasures wait for the write and then find its rows; earlier erasures are in the ledger.
lock table erasures in share mode

-- fragment: is_of_erased(row)
exists (select from erasures x where x.tenant = {row}.tenant
    and (x.user_id = {row}.user_id and {row}.occurred_at <= x.erased_at + {erasure_margin}
      or x.user_id = {row}.asker_id and {row}.asked_at <= x.erased_at + {erasure_margin}))

-- name: put_issue_turns
insert into issue_turns as held (tenant, project, conversation_id, turn_id, agent_id, agent_version, user_id, asker_id,
    by_person, occurred_at, asked_at, encoder, vector, words)
select new.*
from (
    select :tenant::text as tenant, :project::text as project, g.conversation_id, g.turn_id, g.agent_id, g.agent_version,
        g.user_id, g.asker_id, g.by_person, g.occurred_at, g.asked_at, :encoder::text, g.vector,
        string_to_array(g.words, ' ')
    from unnest(:conversation_id::text[], :turn_id::text[], :agent_id::text[], :agent_version::text[], :user_id::text[],
        :asker_id::text[], :by_person::boolean[], :occurred_at::bigint[], :asked_at::bigint[], :vector::bytea[],
        :words::text[])
        as g (conversation_id, turn_id, agent_id, agent_version, user_id, asker_id, by_person, occurred_at, asked_at,
              vector, words)
) new
where not {is_of_erased(new)}
on conflict (conversation_id, turn_id, tenant, project) do update set agent_version = excluded.agent_version,
    user_id = excluded.user_id, asker_id = excluded.asker_id, by_person = excluded.by_person,
    occurred_at = excluded.occurred_at, asked_at = excluded.asked_at, encoder = excluded.encoder,
    vector = excluded.vector, words = excluded.words, agent_id = excluded.agent_id,
    issue_id = case when held.agent_id = excluded.agent_id then held.issue_id end

-- name: drop_issue_turns
delete from issue_turns t
using unnest(:conversation_id::text[], :turn_id::text[]) as gone (conversation_id, turn_id)
where t.conversation_id = gone.conversation_id and t.turn_id = gone.turn_id
  and t.tenant = :tenant and t.project = :project
returning t.issue_id

-- name: centres_of_agent
select coalesce(merged_into, id) as id, centre, radius from issues
where tenant = :tenant and project = :project and agent_id = :agent_id and encoder = :encoder and centre is not null
order by id

-- fragment: turns_given
-- Look up each turn separately. A grouping changes which columns are null. With outdated statistics, PostgreSQL might
-- plan to compare all turns with all others.
unnest(:conversation_id::text[], :turn_id::text[]) as n (conversation_id, turn_id)
cross join lateral (
    select * from issue_turns t
    where t.conversation_id = n.conversation_id and t.turn_id = n.turn_id and t.tenant = :tenant and t.project = :project
    offset 0
) t

-- name: waiting_among
select t.conversation_id, t.turn_id, t.vector from {turns_given}
where t.issue_id is null
order by t.conversation_id, t.turn_id

-- name: place_turns
-- If people have merged an issue since it was chosen, its turns join the other issue.
update issue_turns t set issue_id = (select coalesce(i.merged_into, i.id) from issues i where i.id = given.issue_id)
from unnest(:conversation_id::text[], :turn_id::text[], :issue_id::bigint[]) as given (conversation_id, turn_id, issue_id)
where t.conversation_id = given.conversation_id and t.turn_id = given.turn_id
  and t.tenant = :tenant and t.project = :project

-- name: insert_issue
insert into issues (tenant, project, agent_id, encoder, state_at)
values (:tenant, :project, :agent_id, :encoder, :now) returning id

-- name: recount_issues
update issues i set turns = c.turns, people = c.people, first_at = c.first_at, last_at = c.last_at,
    versions = c.versions
from (
    select i.id, count(t.turn_id)::int as turns, count(distinct t.user_id)::int as people, min(t.occurred_at) as first_at,
        max(t.occurred_at) as last_at,
        coalesce(array_agg(distinct t.agent_version order by t.agent_version)
            filter (where t.agent_version is not null), '{}') as versions
    from unnest(:ids::bigint[]) as i (id) left join issue_turns t on t.issue_id = i.id and t.tenant = :tenant
    group by i.id
) c
where i.id = c.id and i.tenant = :tenant and i.project = :project

-- fragment: first_verdict_on(version)
(
    select occurred_at from feedbacks f
    where f.tenant = i.tenant and f.project = i.project and f.agent_version = {version} and f.agent_id = i.agent_id
      and (f.reaction is not null or f.value is not null)
    order by f.occurred_at limit 1
)

-- name: regress_issues
-- An issue has regressed if, after its resolution, a person rejected an answer or the machine rejected two. Only
-- answers of the resolving version or a later one count. Versions are ordered by their first verdicts.
update issues i set state = 'regressed', state_at = :now
where i.id = any(:ids::bigint[]) and i.tenant = :tenant and i.project = :project and i.state = 'resolved' and (
    select count(*) >= 2 or bool_or(t.by_person)
    from issue_turns t
    where t.issue_id = i.id and t.tenant = i.tenant and t.occurred_at > i.state_at
      and (i.resolved_in is null or {first_verdict_on(t.agent_version)} >= {first_verdict_on(i.resolved_in)}))

-- name: turns_of_issue
-- Skip turns of erased people whose rows are not deleted yet.
select t.vector, t.words, t.conversation_id, t.turn_id from issue_turns t
where t.issue_id = :issue_id and t.tenant = :tenant and t.project = :project and t.encoder = :encoder
  and not {is_of_erased(t)}
order by t.occurred_at desc, t.conversation_id, t.turn_id limit :limit

-- name: describe_issue
update issues set centre = :centre, radius = :radius, encoder = :encoder
where id = :id

-- name: note_nearness
update issue_turns t set nearness = given.nearness
from unnest(:conversation_id::text[], :turn_id::text[], :nearness::real[]) as given (conversation_id, turn_id, nearness)
where t.conversation_id = given.conversation_id and t.turn_id = given.turn_id
  and t.tenant = :tenant and t.project = :project and t.nearness is distinct from given.nearness

-- name: name_issues
update issues i set words = string_to_array(given.words, ' ')
from unnest(:id::bigint[], :words::text[]) as given (id, words)
where i.id = given.id and i.tenant = :tenant and i.project = :project

-- name: issues_without_centre
-- An issue loses its centre if a person is erased.
select distinct i.id, i.tenant, i.project, i.agent_id from issues i
where i.centre is null and exists (select from issue_turns t where t.issue_id = i.id)
limit :limit

-- name: issues_of_agent
select id from issues
where tenant = :tenant and project = :project and agent_id = :agent_id and merged_into is null
order by id

-- name: waiting_agents
select w.tenant, w.project, w.agent_id, w.waiting, a.grouped_at, coalesce(a.left_waiting, 0) as left_waiting, (
    select coalesce(sum(i.turns), 0)::int from issues i
    where i.tenant = w.tenant and i.project = w.project and i.agent_id = w.agent_id
) as placed
from (
    select tenant, project, agent_id, count(*)::int as waiting from issue_turns where issue_id is null
    group by tenant, project, agent_id
    union all
    select tenant, project, agent_id, 0 from issue_agents a
    where not exists (select from issue_turns t where t.tenant = a.tenant and t.project = a.project
                      and t.agent_id = a.agent_id and t.issue_id is null)
) w
left join issue_agents a using (tenant, project, agent_id)

-- name: open_turns
-- Turns without an issue come first.
select conversation_id, turn_id, vector, issue_id from issue_turns t
where t.tenant = :tenant and t.project = :project and t.agent_id = :agent_id and t.encoder = :encoder
order by t.issue_id is not null, t.occurred_at desc, t.conversation_id, t.turn_id limit :limit

-- name: turns_of_other_encoders
select conversation_id, turn_id from issue_turns
where tenant = :tenant and project = :project and agent_id = :agent_id and encoder <> :encoder
order by occurred_at desc limit :limit

-- name: mark_turns
insert into changed_turns (reader, tenant, project, conversation_id, turn_id)
select 'issues', :tenant, :project, n.conversation_id, n.turn_id
from unnest(:conversation_id::text[], :turn_id::text[]) as n (conversation_id, turn_id)

-- name: note_grouping
insert into issue_agents (tenant, project, agent_id, grouped_at, left_waiting)
values (:tenant, :project, :agent_id, :now, :left_waiting)
on conflict (tenant, project, agent_id) do update
set grouped_at = excluded.grouped_at, left_waiting = excluded.left_waiting

-- name: delete_empty_issues
-- Delete only issues that nobody has changed.
delete from issues i
where i.tenant = :tenant and i.project = :project and i.agent_id = :agent_id and i.state = 'open'
  and i.assignee is null and i.note is null and i.merged_into is null
  and not exists (select from issue_turns t where t.issue_id = i.id)
  and not exists (select from issues m where m.merged_into = i.id)

-- fragment: issue_columns
i.id, i.agent_id, i.words, i.state, i.resolved_in, i.state_at, i.assignee, i.note, i.merged_into, i.turns, i.people,
    i.first_at, i.last_at, i.versions

-- fragment: question_of(row)
(
    select left(q.content, 1000) from messages a
    {question_of_answer(a)}
    where a.conversation_id = {row}.conversation_id and a.turn_id = {row}.turn_id and a.tenant = :tenant
      and a.project = :project and a.sender_type = 'agent' and q.has_text
    order by a.occurred_at desc, a.sequence desc limit 1
)

-- name: list_issues
-- Read counts and questions of the listed issues only.
select {issue_columns}, {question_of(typical)} as typical_question
from (
    select i.* from issues i
    where i.tenant = :tenant and i.project = :project and i.merged_into is null and i.turns > 0
      and (:agent_id::text is null or i.agent_id = :agent_id) and (:states::text[] is null or i.state = any(:states))
    order by i.turns desc, i.id limit :limit
) i
left join lateral (
    select t.conversation_id, t.turn_id from issue_turns t
    where t.issue_id = i.id and t.tenant = i.tenant order by t.nearness desc nulls last, t.occurred_at desc limit 1
) typical on true
order by i.turns desc, i.id

-- name: growing_issues(view, narrowed)
-- Of the 100 unsolved issues with the most turns, those with more rejected turns in the window than in the one before.
-- Their turns are read together, in the order of the table. A rejection is looked up only if it may fail the filters:
-- without filters (:is_unfiltered) none does, and without the machine's (:of_machine) only turns of people count.
select i.id, coalesce({question_of(typical)}, array_to_string(i.words, ', ')) as title, i.agent_id, g.people,
    i.first_at >= :start as is_new, g.turns, g.turns_before
from (
    select t.issue_id, (count(*) filter (where t.occurred_at >= :start))::int as turns,
           (count(*) filter (where t.occurred_at < :start))::int as turns_before,
           (count(distinct t.user_id) filter (where t.occurred_at >= :start))::int as people
    from issue_turns t
    where t.issue_id = any(array(
        select id from issues
        where tenant = :tenant and project = :project and merged_into is null and turns > 0 and state = any(:states)
          and (:agent::text is null or agent_id = :agent)
        order by turns desc, id limit 100
      )) and t.tenant = :tenant and t.project = :project
      and t.occurred_at >= :before and t.occurred_at < :end and (t.by_person or :of_machine::boolean)
      and (:is_unfiltered::boolean or exists (
        select from {view} e
        where e.conversation_id = t.conversation_id and e.turn_id = t.turn_id
          and e.tenant = :tenant and e.project = :project{narrowed} offset 0))
    group by t.issue_id
) g join issues i on i.id = g.issue_id
left join lateral (
    select t.conversation_id, t.turn_id from issue_turns t
    where t.issue_id = i.id and t.tenant = i.tenant order by t.nearness desc nulls last, t.occurred_at desc limit 1
) typical on true
where g.turns > g.turns_before
order by g.turns_before - g.turns, i.id limit :limit

-- name: find_issue
select {issue_columns}, null as typical_question from issues i
where i.tenant = :tenant and i.project = :project and i.id = :id

-- name: count_waiting_turns
select count(*)::int from issue_turns
where tenant = :tenant and project = :project and issue_id is null and (:agent_id::text is null or agent_id = :agent_id)

-- name: count_issue_days
select issue_id, occurred_at / {day} * {day} as day, count(*)::int as turns from issue_turns
where issue_id = any(:ids::bigint[]) and tenant = :tenant and project = :project and occurred_at >= :start
group by 1, 2

-- name: turns_in_issue
-- Turns nearest to the issue's centre come first. Each has its rejection, question and answer.
select t.conversation_id, t.turn_id, t.user_id, t.by_person, t.occurred_at, t.agent_version, a.trace_id,
    {question_of(t)} as question, a.answer, (
    select left(e.text, 1000) from effective e
    where e.conversation_id = t.conversation_id and e.turn_id = t.turn_id and e.tenant = :tenant
      and e.project = :project and e.reaction = 'not_ok'
    order by e.origin = 'machine', e.occurred_at desc limit 1
) as complaint
from issue_turns t
left join lateral (
    select left(m.content, 400) as answer, m.trace_id from messages m
    where m.tenant = :tenant and m.project = :project and m.conversation_id = t.conversation_id
      and m.turn_id = t.turn_id and m.sender_type = 'agent'
    order by m.occurred_at desc, m.sequence desc limit 1
) a on true
where t.issue_id = :id and t.tenant = :tenant and t.project = :project
order by t.nearness desc nulls last, t.occurred_at desc, t.conversation_id, t.turn_id
limit :limit

-- name: change_issue
update issues set state = :state, resolved_in = :resolved_in, assignee = :assignee, note = :note,
    state_at = case when state = :state and resolved_in is not distinct from :resolved_in then state_at else :now end
where id = :id and tenant = :tenant and project = :project and merged_into is null returning id

-- name: may_merge
select exists (
    select from issues a join issues b on b.tenant = a.tenant and b.project = a.project and b.agent_id = a.agent_id
    where a.id = :id and b.id = :into and a.id <> b.id and a.tenant = :tenant and a.project = :project
      and a.merged_into is null and b.merged_into is null)

-- name: move_turns
update issue_turns set issue_id = :into, nearness = null
where issue_id = :id and tenant = :tenant and project = :project

-- name: mark_merged
-- Keep the centre, so that rejections near it join the other issue.
update issues set merged_into = :into, words = '{}'
where (id = :id or merged_into = :id) and tenant = :tenant and project = :project

-- name: issues_of_turns
select distinct t.issue_id from {turns_given} where t.issue_id is not null

-- name: waiting_turns
select conversation_id, turn_id from issue_turns
where tenant = :tenant and project = :project and agent_id = :agent_id and encoder = :encoder and issue_id is null
order by occurred_at desc
