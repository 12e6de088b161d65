-- fragment: bucket_full_at
-- Generic cell rate algorithm: a bucket is stored as the time at which it will be full. Taking a token delays this time
-- by the period in which one token is added, so an empty bucket is full after a minute.
greatest(held.full_at, clock_timestamp()) + make_interval(secs => :token_seconds)

-- name: take_token
-- The tolerance of a millisecond allows for rounding errors in the period of a token.
insert into buckets as held (tenant, user_id, full_at)
values (:tenant, :user_id, clock_timestamp() + make_interval(secs => :token_seconds))
on conflict (tenant, user_id) do update set full_at = {bucket_full_at}
where {bucket_full_at} <= clock_timestamp() + interval '60.001 seconds'
returning full_at

-- name: token_wait
-- Seconds until the next token is available; no row if the bucket has been deleted.
select extract(epoch from {bucket_full_at} - clock_timestamp())::float8 - 60
from buckets held where tenant = :tenant and user_id = :user_id

-- name: delete_full_buckets
delete from buckets where full_at <= clock_timestamp()

-- name: delete_bucket
delete from buckets where tenant = :tenant and user_id = :user_id
