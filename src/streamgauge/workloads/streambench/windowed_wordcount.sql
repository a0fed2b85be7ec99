-- Occurrences of each word per window of creation time.
WITH words AS (
    SELECT
        unnest(regexp_split_to_array(lower(sentence), '\W+')) AS word,
        make_timestamptz((epoch_us(created) // ($window_s * 1000000)) * $window_s * 1000000) AS window_start
    FROM events
)
SELECT word, window_start, count(*) AS occurrences
FROM words
GROUP BY ALL
