-- The next migration reads the parked events as JSON, and PostgreSQL reads less than we do: an unknown field may hold the
-- escape of a NUL, or a number that is not finite. Events that it can read stay as they are, byte for byte.
do $$
declare
    parked_event record;
begin
    for parked_event in select ctid as place, convert_from(value, 'UTF8') as said from parked loop
        begin
            perform parked_event.said::json ->> 'conversationId';
        exception when data_exception then
            update parked set value = convert_to(regexp_replace(regexp_replace(
                parked_event.said, '(?<!\\)((?:\\\\)*)\\u0000', '\1\\ufffd', 'g'),
                '([:\[,]\s*)(-?Infinity|NaN)(?=\s*[],}])', '\1null', 'g'), 'UTF8')
            where ctid = parked_event.place;
        end;
    end loop;
end $$;
