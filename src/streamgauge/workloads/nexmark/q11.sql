-- Bids per session of each bidder. A pause longer than the gap starts a new session; one of exactly the gap does not.
-- A session ends one gap after its last bid.
WITH bids AS (
    SELECT bidder, date_time, lag(date_time) OVER (PARTITION BY bidder ORDER BY date_time) AS previous
    FROM events
    WHERE event_type = 2
),
numbered AS (
    SELECT
        bidder,
        date_time,
        count(*) FILTER (WHERE previous IS NULL OR date_time > previous + to_seconds($gap_s))
            OVER (PARTITION BY bidder ORDER BY date_time) AS session
    FROM bids
)
SELECT
    bidder,
    count(*) AS bids,
    min(date_time) AS session_start,
    max(date_time) + to_seconds($gap_s) AS session_end
FROM numbered
GROUP BY bidder, session
