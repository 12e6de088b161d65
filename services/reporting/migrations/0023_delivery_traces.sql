-- compatible_from: 0001
-- The W3C trace context of the event, which the request to the receiver continues.
alter table deliveries add column traceparent text;
