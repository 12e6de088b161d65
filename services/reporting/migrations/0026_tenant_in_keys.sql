-- compatible_from: 0001
-- concurrently
-- The tenant in keys, so that tables can be distributed by tenant. Each table is locked alone.
alter table access_log drop constraint access_log_pkey, add primary key (id, tenant);
alter table audit_draws drop constraint audit_draws_pkey, add primary key (id, tenant);
alter table held_receipts drop constraint held_receipts_pkey, add primary key (id, tenant);
alter table rejection_changes drop constraint rejection_changes_pkey, add primary key (id, tenant);
alter table stale_turns drop constraint stale_turns_pkey, add primary key (id, tenant);
alter table suspect_changes drop constraint suspect_changes_pkey, add primary key (id, tenant);
