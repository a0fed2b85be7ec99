-- Persons who register and open an auction in the same tumbling window: one row per person and window.
WITH persons AS (
    SELECT DISTINCT id, name, time_bucket(to_seconds($window_s), date_time, TIMESTAMPTZ 'epoch') AS window_start
    FROM events
    WHERE event_type = 0
),
sellers AS (
    SELECT DISTINCT seller, time_bucket(to_seconds($window_s), date_time, TIMESTAMPTZ 'epoch') AS window_start
    FROM events
    WHERE event_type = 1
)
SELECT id, name, persons.window_start
FROM persons JOIN sellers ON seller = id AND sellers.window_start = persons.window_start
