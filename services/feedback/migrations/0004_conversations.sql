-- compatible_from: 0001
-- Finds the tenant of a conversation whose caller has a token for all tenants.
create index turns_of_conversation on turns (conversation_id, tenant);
