-- Records and sum of the values per key and half-open window of creation time.
SELECT
    key,
    make_timestamptz((epoch_us(created) // ($window_s * 1000000)) * $window_s * 1000000) AS window_start,
    count(*) AS records,
    sum(value)::BIGINT AS total
FROM events
GROUP BY ALL
