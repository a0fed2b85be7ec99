-- The sum of every complete run of records of a key, in the order of their numbers.
WITH ranked AS (
    SELECT key, value, (row_number() OVER (PARTITION BY key ORDER BY number) - 1) // $window_records AS window_number
    FROM events
)
SELECT key, window_number, sum(value)::BIGINT AS total
FROM ranked
GROUP BY key, window_number
HAVING count(*) = $window_records
