-- What was there before an artifact store is marked stretch by stretch, conversations in their order.
alter table artifact_store add column marked_to text[];
comment on column artifact_store.marked_to is
    'Tenant, project and conversation up to which turns from before the store are marked; null once all are';
drop index hosted_artifacts_turn;
create index hosted_artifacts_turn on hosted_artifacts (tenant, project, conversation_id, turn_id);
