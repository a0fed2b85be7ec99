-- Auctions of category 10 with their sellers in Oregon, Idaho and California, whichever of the two comes first.
-- An expiry other than 0 drops pairs whose event times lie further apart.
WITH persons AS (
    SELECT id, name, city, state, date_time
    FROM events
    WHERE event_type = 0 AND state IN ('OR', 'ID', 'CA')
),
auctions AS (
    SELECT id, seller, date_time
    FROM events
    WHERE event_type = 1 AND category = 10
)
SELECT name, city, state, auctions.id
FROM auctions JOIN persons ON seller = persons.id
WHERE $expiry_s = 0 OR abs(epoch_us(auctions.date_time) - epoch_us(persons.date_time)) <= $expiry_s::BIGINT * 1000000
