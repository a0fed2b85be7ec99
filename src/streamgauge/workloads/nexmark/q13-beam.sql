-- Every bid with the row of a fixed table that its bidder points to. The table holds the numbers from 0 and their
-- text; the key is the remainder of the bidder's id by the number of rows.
WITH side AS (
    SELECT i AS key, i::VARCHAR AS value
    FROM range($side_rows) AS numbers(i)
)
SELECT auction, bidder, price, date_time, value
FROM events JOIN side ON key = bidder % $side_rows
WHERE event_type = 2
