-- Records per address over the whole stream; the address is the second field.
SELECT regexp_split_to_array(line, '[\s,]+')[2] AS ip, count(*) AS records
FROM events
GROUP BY ALL
