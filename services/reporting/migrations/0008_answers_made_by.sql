-- Which version and model of the agent gave an answer, and the trace of how it was made.
alter table messages add column agent_version text, add column model text, add column trace_id text;
