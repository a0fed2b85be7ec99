-- The highest bids of each tumbling window; all of them when several have the same price.
-- The end of a window is included when its highest price is looked for among the bids, so a bid of that price made at
-- the end appears for this window too.
WITH bids AS (
    SELECT auction, price, bidder, date_time, extra
    FROM events
    WHERE event_type = 2
),
highest AS (
    SELECT time_bucket(to_seconds($window_s), date_time, TIMESTAMPTZ 'epoch') AS window_start, max(price) AS price
    FROM bids
    GROUP BY window_start
)
SELECT window_start, auction, bids.price, bidder, date_time, extra
FROM highest JOIN bids
    ON bids.price = highest.price AND date_time BETWEEN window_start AND window_start + to_seconds($window_s)
