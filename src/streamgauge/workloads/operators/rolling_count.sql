-- Records per key over the whole stream.
SELECT key, count(*) AS records
FROM events
GROUP BY key
