-- compatible_from: 0001
-- This database's clock orders a person's ratings and erasures, because the clocks of processes differ.
alter table session_feedback add column stored_at timestamptz;
update session_feedback set stored_at = least(recorded_at, clock_timestamp());
alter table session_feedback alter column stored_at set not null;
alter table session_feedback alter column stored_at set default clock_timestamp();
create index session_feedback_by_person on session_feedback (user_id_or_null, tenant);
comment on column session_feedback.stored_at is 'Time of the insert by this database''s clock; recorded_at is the process''s';

alter table erasures add column noted_at timestamptz;
update erasures set noted_at = least(timestamptz 'epoch' + erased_at * interval '1 microsecond', clock_timestamp());
alter table erasures alter column noted_at set not null;
alter table erasures alter column noted_at set default clock_timestamp();
comment on column erasures.noted_at is 'Time of the last change of the entry by this database''s clock';

-- An erasure takes the same lock exclusively: it waits for ratings of the person whose insert is not committed.
create function time_rating() returns trigger language plpgsql as $$
begin
    perform pg_advisory_xact_lock_shared(hashtextextended(new.tenant || ' ' || new.user_id_or_null, 0));
    new.stored_at := clock_timestamp();
    return new;
end
$$;
create trigger rating_timed before insert on session_feedback
    for each row when (new.user_id_or_null is not null) execute function time_rating();

create function time_erasure() returns trigger language plpgsql as $$
begin
    new.noted_at := clock_timestamp();
    return new;
end
$$;
create trigger erasure_timed before insert or update on erasures for each row execute function time_erasure();
