-- compatible_from: 0001
-- Erasures rename the person in their turns.
create index turns_of_person on turns (user_id, tenant);

-- The ledger is also the turn registry's, whose database the feedback store may not share.
insert into erasures (tenant, user_id, request_id, erased_at)
select distinct on (tenant, user_id) tenant, user_id, request_id, requested_at from erasure_requests
order by tenant, user_id, requested_at desc, request_id desc
on conflict do nothing;

-- Erased people have no role.
delete from people p using erasures e
where p.tenant = e.tenant and p.user_id = e.user_id
  and substring(p.version from 2 for 8) <= int8send(e.erased_at + 300000000);
comment on column turns.user_id is 'Who asked; after their erasure a pseudonym, if the tenant asks for pseudonyms';
