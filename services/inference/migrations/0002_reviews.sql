-- compatible_from: 0001
-- Reviews set a turn's status if no person's reaction does.
alter table user_reactions add column reviewer boolean not null default false;
