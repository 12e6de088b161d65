-- pgvector's halfvec where the server has it and we may have it; else real[], and the two functions hide which.
do $$
begin
    begin
        create extension if not exists vector with schema public;
    exception when insufficient_privilege or undefined_file or feature_not_supported or invalid_schema_name then
        null;
    end;
    if to_regtype('halfvec') is not null then
        alter table turns add column user_vector halfvec(256), add column assistant_vector halfvec(256);
        create function turn_vector(real[]) returns halfvec language sql immutable strict parallel safe
            return $1::halfvec(256);
        create function likeness(halfvec, halfvec) returns float8 language sql immutable strict parallel safe
            return -($1 <#> $2);
    else
        alter table turns add column user_vector real[], add column assistant_vector real[];
        -- Compressing numbers is in vain.
        alter table turns alter column user_vector set storage external;
        alter table turns alter column assistant_vector set storage external;
        create function turn_vector(real[]) returns real[] language sql immutable strict parallel safe return $1;
        create function likeness(real[], real[]) returns float8 language sql immutable strict parallel safe
            return (select sum(a::float8 * b) from unnest($1, $2) as pair (a, b));
    end if;
end $$;

alter table turns add column user_embedder bigint, add column assistant_embedder bigint;
-- Holds all that a look through one person's turns needs, so that it reads no turn but the few it picks.
create index turns_of_person on turns (user_id, tenant, project, at) include (assistant_embedder, assistant_vector)
    where assistant_text is not null;
comment on column turns.user_vector is 'The sentence vector of user_text, length 1; null where it was never made';
comment on column turns.user_embedder is 'Stands for the name of what made user_vector; vectors of two are never compared';
comment on function likeness is 'Cosine of two vectors of length 1; a vector of zeros is like none';
