-- User sessions: bids of a bidder without a pause of more than 10 s.
SELECT bidder, COUNT(*) AS bids, window_start AS session_start, window_end AS session_end
FROM SESSION(TABLE bid PARTITION BY bidder, DESCRIPTOR(date_time), INTERVAL '10' SECOND)
GROUP BY bidder, window_start, window_end
