-- Bids between one and fifty million cents after conversion to euros, both ends excluded, with the time of day (UTC)
-- and how often the letter c occurs in extra. Hours 7 and 19 are neither day nor night.
SELECT
    auction,
    bidder,
    (0.908 * price)::DECIMAL(23, 3) AS price,
    CASE
        WHEN hour(date_time) BETWEEN 8 AND 18 THEN 'dayTime'
        WHEN hour(date_time) <= 6 OR hour(date_time) >= 20 THEN 'nightTime'
        ELSE 'otherTime'
    END AS bid_time_type,
    date_time,
    extra,
    (len(string_split(extra, 'c')) - 1)::BIGINT AS c_counts
FROM events
WHERE event_type = 2 AND 0.908 * events.price > 1000000 AND 0.908 * events.price < 50000000
