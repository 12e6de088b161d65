create table gate_answers (
    digest bytea primary key,
    tenant text not null,
    project text not null,
    answer text,
    settled_at timestamptz not null default now()
);
comment on table gate_answers is 'What the LLM gate answered to each question; the first word stands. Holds no text of anybody';
comment on column gate_answers.digest is 'SHA-256 of the conversation''s key and the request, byte for byte';
comment on column gate_answers.answer is 'As the model gave it, JSON; null: there was none in time, rules and learned layer decide';
