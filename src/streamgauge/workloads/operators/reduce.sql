-- Sum and maximum of the values of each key over the whole stream.
SELECT key, sum(value)::BIGINT AS total, max(value) AS largest
FROM events
GROUP BY key
