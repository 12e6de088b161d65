-- compatible_from: 0001
-- contracts/effective.py states the rule; reporting has a view of the same name. Whoever asks for one turn reads only that:
-- its columns are the first of the distinct ones.
create view effective as
select * from (
    select distinct on (conversation_id, turn_id, tenant, project, reviewer, case when not reviewer then user_id end) *
    from user_reactions
    where explicit or status is not null
    order by conversation_id, turn_id, tenant, project, reviewer, case when not reviewer then user_id end,
        at desc, feedback_id desc
) newest
where status is not null;
comment on view effective is
    'The reactions that count: of each person on a turn the newest, unless that is a retracted explicit one; of a turn''s reviews the newest that is not retracted';
