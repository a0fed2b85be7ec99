-- Every bid with the person who makes it and with each auction that this person sells: one row per bid and auction,
-- whichever event comes first. An expiry other than 0 drops rows where the event time of the person or of the auction
-- lies further from that of the bid.
WITH bids AS (
    SELECT auction, bidder, price, channel, url, date_time AS bid_time, extra AS bid_extra
    FROM events
    WHERE event_type = 2
),
persons AS (
    SELECT id, name, email_address, credit_card, city, state, date_time AS person_time
    FROM events
    WHERE event_type = 0
),
auctions AS (
    SELECT
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
    WHERE event_type = 1
)
SELECT bids.*, persons.* EXCLUDE (id, person_time), auctions.*
FROM bids JOIN persons ON id = bidder JOIN auctions ON seller = bidder
WHERE
    $expiry_s = 0
    OR (
        abs(epoch_us(bid_time) - epoch_us(person_time)) <= $expiry_s::BIGINT * 1000000
        AND abs(epoch_us(bid_time) - epoch_us(auction_time)) <= $expiry_s::BIGINT * 1000000
    )
