-- The bids for auctions whose id is a multiple of auction_skip.
SELECT auction, price
FROM events
WHERE event_type = 2 AND auction % $auction_skip = 0
