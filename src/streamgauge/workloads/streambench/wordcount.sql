-- Occurrences of each word over the whole stream: sentences are cut at non-word characters, letters made small.
WITH words AS (
    SELECT unnest(regexp_split_to_array(lower(sentence), '\W+')) AS word FROM events
)
SELECT word, count(*) AS occurrences
FROM words
GROUP BY word
