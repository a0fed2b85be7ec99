-- Records and sum of the values per key and window; a record belongs to as many windows as a window has slides.
SELECT
    key,
    make_timestamptz((epoch_us(created) // ($slide_s * 1000000) - i) * $slide_s * 1000000) AS window_start,
    count(*) AS records,
    sum(value)::BIGINT AS total
FROM events, range($slides) AS numbers(i)
GROUP BY ALL
