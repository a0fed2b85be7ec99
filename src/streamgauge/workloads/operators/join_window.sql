-- Pairs of an even and an odd record with the same key and the same half-open window of creation time.
WITH windowed AS (
    SELECT
        key,
        value,
        side,
        make_timestamptz((epoch_us(created) // ($window_s * 1000000)) * $window_s * 1000000) AS window_start
    FROM events
)
SELECT key, window_start, l.value AS left_value, r.value AS right_value
FROM windowed AS l JOIN windowed AS r USING (key, window_start)
WHERE l.side = 0 AND r.side = 1
