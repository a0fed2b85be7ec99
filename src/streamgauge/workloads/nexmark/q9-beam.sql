-- Every auction with its winning bid: the highest one that reaches the reserve before the auction expires, even one
-- made before the auction opened. Of equal prices the earliest bid wins, then the smaller bidder, then the greater
-- extra.
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
FROM auctions JOIN bids ON auction = id AND bid_time < expires AND price >= reserve
QUALIFY row_number() OVER (PARTITION BY id ORDER BY price DESC, bid_time, bidder, bid_extra DESC) = 1
