-- Every even record, with each odd one that has its key and was created at the same time or up to the limit later.
SELECT l.key, l.created, l.value AS left_value, r.created AS right_created, r.value AS right_value
FROM (FROM events WHERE side = 0) AS l
LEFT JOIN (FROM events WHERE side = 1) AS r
    ON l.key = r.key
    AND epoch_us(r.created) BETWEEN epoch_us(l.created) AND epoch_us(l.created) + $within_s * 1000000
