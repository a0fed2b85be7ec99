-- Hot items: per sliding window (10 s, every 2 s) the auctions with the most bids.
WITH counts AS (
  SELECT window_start, window_end, auction, COUNT(*) AS num
  FROM HOP(TABLE bid, DESCRIPTOR(date_time), INTERVAL '2' SECOND, INTERVAL '10' SECOND)
  GROUP BY window_start, window_end, auction
), highest AS (
  SELECT window_start, window_end, MAX(num) AS num
  FROM counts
  GROUP BY window_start, window_end
)
SELECT counts.window_start, counts.auction, counts.num
FROM counts
JOIN highest
  ON counts.window_start = highest.window_start
  AND counts.window_end = highest.window_end
  AND counts.num >= highest.num
