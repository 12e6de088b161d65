-- What has changed in a project since a snapshot, whoever committed when: the rows' transactions in their order.
create index feedbacks_written on feedbacks (tenant, project, written_by);
drop index feedbacks_recorded;

alter table forgotten add column written_by xid8 not null default pg_current_xact_id();
create index forgotten_written on forgotten (written_by);

create table database_server (
    system_identifier bigint not null
);
comment on table database_server is
    'The PostgreSQL cluster that gave the transaction ids in written_by; another one counts anew. One row.';
