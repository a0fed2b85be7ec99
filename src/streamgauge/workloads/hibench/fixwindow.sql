-- Earliest record and number of records per address and window of creation time.
SELECT
    regexp_split_to_array(line, '[\s,]+')[2] AS ip,
    make_timestamptz((epoch_us(created) // ($window_s::BIGINT * 1000000)) * $window_s::BIGINT * 1000000) AS window_start,
    min(created) AS earliest,
    count(*) AS records
FROM events
GROUP BY ALL
