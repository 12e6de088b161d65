-- name: add_account
insert into accounts (name, tenant, projects, role, created_at, created_by)
values (:name, :tenant, :projects, :role, :now, :by) on conflict do nothing

-- name: find_account
select name, tenant, projects, role, created_at, created_by, password_at, disabled_at, issuer from accounts where name = :name

-- name: account_has_password
select issuer is null from accounts where name = :name

-- name: list_accounts
-- List accounts of one tenant, and of these projects unless :projects is null.
select name, tenant, projects, role, created_at, created_by, password_at, disabled_at, issuer from accounts
where (:tenant::text is null or tenant = :tenant) and (:projects::text[] is null or projects <@ :projects)
order by name limit :limit

-- name: change_account
update accounts set tenant = :tenant, projects = :projects, role = :role where name = :name

-- name: set_account_disabled
update accounts set disabled_at = :disabled_at where name = :name

-- name: remove_account
delete from accounts where name = :name

-- name: set_account_link
insert into account_secrets (name, link_hash, link_expires_at) values (:name, :link_hash, :expires_at)
on conflict (name) do update set link_hash = excluded.link_hash, link_expires_at = excluded.link_expires_at

-- name: find_account_by_link
select name from account_secrets join accounts a using (name)
where link_hash = :link_hash and link_expires_at > :now and a.disabled_at is null

-- name: use_account_link
update account_secrets s set password_hash = :password_hash, link_hash = null, link_expires_at = null
from accounts a
where s.link_hash = :link_hash and s.link_expires_at > :now and a.name = s.name and a.disabled_at is null
returning s.name

-- name: drop_account_link
update account_secrets set link_hash = null, link_expires_at = null where name = :name

-- name: find_password
select s.password_hash from account_secrets s join accounts a using (name)
where s.name = :name and a.disabled_at is null

-- name: set_password
update account_secrets set password_hash = :password_hash where name = :name and password_hash = :before returning name

-- name: note_password
update accounts set password_at = :now where name = :name

-- name: add_session
-- Add the session only if the account still has the password that was checked. Otherwise a concurrent change of the
-- password would not end this session.
insert into account_sessions (session_hash, name, created_at)
select :session_hash, s.name, :now from account_secrets s join accounts a using (name)
where s.name = :name and s.password_hash = :password_hash and a.disabled_at is null
for share of s, a
returning name

-- name: find_session
select a.name, a.tenant, a.projects, a.role from account_sessions s join accounts a using (name)
where s.session_hash = :session_hash and s.created_at > :oldest and a.disabled_at is null
    and (s.expires_at is null or s.expires_at > :now)

-- name: end_session
delete from account_sessions where session_hash = :session_hash returning expires_at is not null

-- name: end_sessions
delete from account_sessions where name = :name and session_hash is distinct from :kept

-- name: count_attempt
insert into sign_in_attempts (subject, failures, since) values (:subject, 1, :now)
on conflict (subject) do update set
    failures = case when sign_in_attempts.since <= :oldest then 1 else sign_in_attempts.failures + 1 end,
    since = case when sign_in_attempts.since <= :oldest then excluded.since else sign_in_attempts.since end
returning failures, since

-- name: forget_attempts
delete from sign_in_attempts where subject = :subject

-- name: return_attempt
update sign_in_attempts set failures = greatest(failures - 1, 0) where subject = :subject

-- name: lock_account_of_subject
select name, tenant, projects, role, disabled_at from accounts
where issuer = :issuer and subject = :subject for update

-- name: add_provider_account
-- Return nothing if another account has the name.
insert into accounts (name, tenant, projects, role, created_at, created_by, issuer, subject)
values (:name, :tenant, :projects, :role, :now, :by, :issuer, :subject) on conflict do nothing
returning name

-- name: add_provider_session
insert into account_sessions (session_hash, name, created_at, expires_at)
values (:session_hash, :name, :now, :expires_at)

-- name: end_sessions_of_subject
delete from account_sessions s using accounts a
where a.name = s.name and a.issuer = :issuer and a.subject = :subject
