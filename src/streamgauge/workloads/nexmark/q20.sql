-- Every bid for an auction of category 10, with the auction, whichever of the two comes first.
-- An expiry other than 0 drops pairs whose event times lie further apart.
WITH bids AS (
    SELECT auction, bidder, price, channel, url, date_time AS bid_time, extra AS bid_extra
    FROM events
    WHERE event_type = 2
),
auctions AS (
    SELECT
        id,
        item_name,
        description,
        initial_bid,
        reserve,
        date_time AS auction_time,
        expires,
        seller,
        category,
        auction_extra
    FROM events
    WHERE event_type = 1 AND category = 10
)
SELECT bids.*, auctions.* EXCLUDE (id)
FROM bids JOIN auctions ON auction = id
WHERE $expiry_s = 0 OR abs(epoch_us(bid_time) - epoch_us(auction_time)) <= $expiry_s::BIGINT * 1000000
