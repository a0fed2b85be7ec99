-- New users: persons who register and open an auction in the same window of 10 s, once per window.
WITH people AS (
  SELECT window_start, window_end, id, name
  FROM TUMBLE(TABLE person, DESCRIPTOR(date_time), INTERVAL '10' SECOND)
  GROUP BY window_start, window_end, id, name
), sellers AS (
  SELECT window_start, window_end, seller
  FROM TUMBLE(TABLE auction, DESCRIPTOR(date_time), INTERVAL '10' SECOND)
  GROUP BY window_start, window_end, seller
)
SELECT people.id, people.name, people.window_start
FROM people
JOIN sellers
  ON people.id = sellers.seller
  AND people.window_start = sellers.window_start
  AND people.window_end = sellers.window_end
