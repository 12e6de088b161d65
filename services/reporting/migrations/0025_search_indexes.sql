-- compatible_from: 0001
-- concurrently
-- Indexes of words. Each build reads all texts of its table.
create index concurrently if not exists messages_terms on messages using gin (search_terms(tenant, project, content));
create index concurrently if not exists feedbacks_terms on feedbacks
    using gin (search_terms(tenant, project, coalesce(text, '') || ' ' || coalesce(correction, '')))
    where text is not null or correction is not null;
create index concurrently if not exists replies_terms on replies using gin (search_terms(tenant, project, coalesce(text, ''))) where text is not null;
