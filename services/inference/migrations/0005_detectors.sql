-- compatible_from: 0001
-- Of two verdicts on a message that of the later epoch holds, then that of the later detector, then of the later look.
alter table verdicts
    add column epoch bigint not null default 0,
    -- Compared byte by byte, as every process compares it.
    add column judged_by text collate "C" not null default '';
comment on column verdicts.judged_by is 'Sort key of the detector''s version; empty if release 0.1.0 judged';

create table rejudgements (
    epoch bigint primary key,
    since bigint not null,
    detector text not null,
    position text,
    judged bigint not null default 0,
    counts text not null default '{}',
    started_at timestamptz not null default now(),
    finished_at timestamptz
);
comment on table rejudgements is 'Second judgements; each begins an epoch, and verdicts are given in the latest one';
comment on column rejudgements.since is 'Messages from this time on are judged again, in microseconds';
comment on column rejudgements.position is 'The last message judged again, JSON; null before the first';
comment on column rejudgements.counts is 'Messages by the difference between the verdicts, JSON';

create table detectors (
    version text primary key,
    seen_at timestamptz not null default now()
);
comment on table detectors is 'Versions of detectors, and when each last judged a message that arrived';
