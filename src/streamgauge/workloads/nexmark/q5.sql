-- The auctions with the most bids in each sliding window; all of them when several share the first place.
-- Windows that start before the first bid count too.
WITH counts AS (
    SELECT
        time_bucket(to_seconds($slide_s), date_time, TIMESTAMPTZ 'epoch') - to_seconds(back_s) AS window_start,
        auction,
        count(*) AS num
    FROM events, range(0, $window_s, $slide_s) AS slides(back_s)
    WHERE event_type = 2 AND date_time < window_start + to_seconds($window_s)
    GROUP BY ALL
)
SELECT window_start, auction, num
FROM counts
QUALIFY num = max(num) OVER (PARTITION BY window_start)
