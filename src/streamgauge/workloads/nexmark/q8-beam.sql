-- Auctions that persons open in the tumbling window in which they register: one row per auction.
WITH persons AS (
    SELECT id, name, time_bucket(to_seconds($window_s), date_time, TIMESTAMPTZ 'epoch') AS window_start
    FROM events
    WHERE event_type = 0
),
auctions AS (
    SELECT seller, reserve, time_bucket(to_seconds($window_s), date_time, TIMESTAMPTZ 'epoch') AS window_start
    FROM events
    WHERE event_type = 1
)
SELECT id, name, reserve, persons.window_start
FROM persons JOIN auctions ON seller = id AND auctions.window_start = persons.window_start
