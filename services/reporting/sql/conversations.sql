-- fragment: is_after_in_list(row, last)
-- True if `row` follows `last` in the list, newest first, then by conversation. `last` has no conversation before the
-- first page.
{row}.occurred_at <= {last}.occurred_at and ({last}.conversation_id is null or {row}.occurred_at < {last}.occurred_at
    or {row}.conversation_id > {last}.conversation_id)

-- name: list_active_conversations
-- List conversations by their newest reaction, newest first. Each step finds the next conversation by index, so the
-- cost of a page does not depend on the window's size or on earlier pages. After the first page, a reaction is skipped
-- if its conversation has a later one in the window. Conversations changed since the first page's snapshot are skipped,
-- because they may have moved in the order and would be listed twice.
with recursive listed as (
    select :after_id::text as conversation_id, coalesce(:after::bigint, :end::bigint - 1) as occurred_at,
           array[]::text[] as conversations
    union all
    select next.conversation_id, next.occurred_at, last.conversations || next.conversation_id
    from listed last
    cross join lateral (
        select e.conversation_id, e.occurred_at
        from effective e
        where e.tenant = :tenant and e.project = :project and e.occurred_at >= :start
          and {is_after_in_list(e, last)} and e.conversation_id <> all(last.conversations)
          and (:after::bigint is null or not exists (
            select from effective later
            where later.tenant = :tenant and later.project = :project and later.conversation_id = e.conversation_id
              and later.occurred_at < :end
              and (later.occurred_at, later.feedback_id) > (e.occurred_at, e.feedback_id)
          ))
          and (:seen::text is null or not exists (
            select from feedbacks moved
            where moved.tenant = :tenant and moved.project = :project and moved.conversation_id = e.conversation_id
              and moved.feedback_type <> 'implicit' and {is_unseen(moved)}
          ))
        order by e.occurred_at desc, e.conversation_id
        limit 1
    ) next
    where cardinality(last.conversations) < :limit::int
)
select l.conversation_id, l.occurred_at, m.occurred_at as started_at, c.*
from listed l
cross join lateral (
    select sum(coalesce(octet_length(e.text), 0) + {overhead}) as size, {counts}
    from effective e
    where e.tenant = :tenant and e.project = :project and e.occurred_at >= :start and e.occurred_at < :end
      and e.conversation_id = l.conversation_id
) c
left join lateral (
    select occurred_at from messages
    where conversation_id = l.conversation_id and tenant = :tenant and project = :project
    order by occurred_at, sequence limit 1
) m on true
where l.conversations <> '{}' order by cardinality(l.conversations)

-- name: reactions_of_conversations
select * from (
    select conversation_id, turn_id, text, reaction, confidence, origin, rn, occurred_at, feedback_id,
           sum(coalesce(octet_length(text), 0) + {overhead})
               over (partition by conversation_id order by occurred_at desc, feedback_id desc) as used
    from effective
    where tenant = :tenant and project = :project and occurred_at >= :start and occurred_at < :end
      and conversation_id = any(:ids::text[])
) f
where used <= {item_bytes}
order by occurred_at, feedback_id

-- fragment: best_first
-- The order of the view `effective` among competing reactions: candidates first, newest first.
(reaction is not null or origin = 'user' and feedback_type = 'explicit') desc, occurred_at desc, feedback_id desc

-- fragment: latest_of_turns_with(changes)
with standing as (
    -- The current record of each slot, even if it is cleared. Any change of a record of the turn lists the turn again,
    -- because a retraction makes a previous reaction effective, or another person's.
    select distinct on (slot) turn_id, feedback_id, user_id, occurred_at, reaction, text, confidence, origin, rn,
           max(recorded_at) over (partition by slot) as slot_changed_at,
           max(recorded_at) over (partition by turn_id) as changed_at
    from feedbacks
    where {is_here} and feedback_type <> 'implicit' and (:turn_ids::text[] is null or turn_id = any(:turn_ids::text[])) and {changes}
    order by slot, {best_first}
), latest as (
    -- The latest reaction that stands, else the latest retraction.
    select distinct on (turn_id) *, coalesce(octet_length(text), 0) + {overhead} as size
    from standing
    where changed_at > :since
    order by turn_id, reaction is null, case when reaction is null then slot_changed_at end desc, occurred_at desc,
        feedback_id desc
), listed as (
    select *, sum(size) over (order by changed_at, turn_id) - size as size_before
    from latest
    where :after::bigint is null or (changed_at, turn_id) > (:after, :after_turn::text)
    order by changed_at, turn_id
    limit :limit
)
select turn_id, feedback_id, user_id, occurred_at, reaction, confidence, origin, rn, changed_at, size,
       case when size_before < {page_bytes} then text end as text,
       (select max(occurred_at) from messages m where {is_here} and m.turn_id = listed.turn_id) as turn_ts
from listed
order by changed_at, turn_id

-- fragment: any_changes
true

-- fragment: unseen_changes
turn_id in (select turn_id from feedbacks f where {is_here} and feedback_type <> 'implicit' and {is_unseen(f)})

-- name: latest_of_turns
{latest_of_turns_with(any_changes)}

-- name: latest_of_changed_turns
{latest_of_turns_with(unseen_changes)}

-- name: own_feedback
select * from effective
where slot = :slot and tenant = :tenant and project = :project and conversation_id = :conversation_id
