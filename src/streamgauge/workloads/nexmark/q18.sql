-- The last bid of each bidder for each auction. Of bids at the same time the highest counts, then the greatest
-- channel, url and extra, in this order.
SELECT auction, bidder, price, channel, url, date_time, extra
FROM events
WHERE event_type = 2
QUALIFY row_number() OVER (
    PARTITION BY bidder, auction ORDER BY date_time DESC, price DESC, channel DESC, url DESC, extra DESC
) = 1
