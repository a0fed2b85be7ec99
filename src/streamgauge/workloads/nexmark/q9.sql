-- Every auction with its highest bid. A bid is valid from the opening of its auction until it expires, both ends
-- included; the reserve does not matter. Of equal prices the earliest bid wins, then the smaller bidder, then the
-- greater extra.
WITH auctions AS (
    SELECT id, item_name, description, initial_bid, reserve, date_time, expires, seller, category, auction_extra AS extra
    FROM events
    WHERE event_type = 1
),
bids AS (
    SELECT auction, bidder, price, date_time AS bid_time, extra AS bid_extra
    FROM events
    WHERE event_type = 2
)
SELECT auctions.*, bids.*
FROM auctions JOIN bids ON auction = id AND bid_time BETWEEN date_time AND expires
QUALIFY row_number() OVER (PARTITION BY id ORDER BY price DESC, bid_time, bidder, bid_extra DESC) = 1
