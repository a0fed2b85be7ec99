-- Records and sum of the values per session: a key's records, none more than the gap after the one before.
WITH paused AS (
    SELECT
        key,
        created,
        number,
        value,
        coalesce(epoch_ms(created) - lag(epoch_ms(created)) OVER key_order > $gap_ms, TRUE) AS is_first
    FROM events
    WINDOW key_order AS (PARTITION BY key ORDER BY number)
),
numbered AS (
    SELECT *, count(*) FILTER (is_first) OVER (PARTITION BY key ORDER BY number) AS session
    FROM paused
)
SELECT
    key,
    min(created) AS session_start,
    max(created) + to_milliseconds($gap_ms) AS session_end,
    count(*) AS records,
    sum(value)::BIGINT AS total
FROM numbered
GROUP BY key, session
