-- Every bid with its day and its minute of the day, in UTC.
SELECT
    auction,
    bidder,
    price,
    date_time,
    extra,
    strftime(date_time, '%Y-%m-%d') AS dt,
    strftime(date_time, '%H:%M') AS hm
FROM events
WHERE event_type = 2
