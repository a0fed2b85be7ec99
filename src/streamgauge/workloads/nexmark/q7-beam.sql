-- The highest bids of each tumbling window; all of them when several have the same price.
SELECT
    time_bucket(to_seconds($window_s), date_time, TIMESTAMPTZ 'epoch') AS window_start,
    auction,
    price,
    bidder,
    date_time,
    extra
FROM events
WHERE event_type = 2
QUALIFY price = max(price) OVER (PARTITION BY window_start)
