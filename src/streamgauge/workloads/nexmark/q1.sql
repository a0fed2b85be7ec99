-- Every bid with its price in euros: 0.908 of the dollars, exact to a thousandth of a cent.
SELECT auction, bidder, (0.908 * price)::DECIMAL(23, 3) AS price, date_time, extra
FROM events
WHERE event_type = 2
