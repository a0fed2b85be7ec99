-- Number and prices of the bids per auction and day (UTC). Numbers are in all, and by price below 10,000, below
-- 1,000,000 and from there on. The average is cut off.
SELECT
    auction,
    strftime(date_time, '%Y-%m-%d') AS day,
    count(*) AS total_bids,
    count(*) FILTER (WHERE price < 10000) AS rank1_bids,
    count(*) FILTER (WHERE price >= 10000 AND price < 1000000) AS rank2_bids,
    count(*) FILTER (WHERE price >= 1000000) AS rank3_bids,
    min(price) AS min_price,
    max(price) AS max_price,
    (sum(price) // count(*))::BIGINT AS avg_price,
    sum(price)::BIGINT AS sum_price
FROM events
WHERE event_type = 2
GROUP BY auction, day
