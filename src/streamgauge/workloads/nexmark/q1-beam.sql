-- Every bid with its price in euros: 89 hundredths of the dollars, in whole cents, cut off.
SELECT auction, bidder, price * 89 // 100 AS price, date_time, extra
FROM events
WHERE event_type = 2
