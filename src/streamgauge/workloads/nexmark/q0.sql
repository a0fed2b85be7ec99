-- Every bid, unchanged.
SELECT auction, bidder, price, date_time, extra
FROM events
WHERE event_type = 2
