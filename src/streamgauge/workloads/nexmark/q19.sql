-- The ten highest bids of each auction, numbered from the highest. Of equal prices the earliest bid comes first, then
-- the smaller bidder, then the greater extra and url.
SELECT
    auction,
    bidder,
    price,
    channel,
    url,
    date_time,
    extra,
    row_number() OVER (
        PARTITION BY auction ORDER BY price DESC, date_time, bidder, extra DESC, url DESC
    )::INTEGER AS rank_number
FROM events
WHERE event_type = 2
QUALIFY rank_number <= 10
