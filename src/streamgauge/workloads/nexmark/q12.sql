-- Bids per bidder over the whole stream. Into which windows of processing time they fall depends on the run,
-- but over all windows their number is this one.
SELECT bidder, count(*) AS bids
FROM events
WHERE event_type = 2
GROUP BY bidder
