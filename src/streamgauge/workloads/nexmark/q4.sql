-- Highest bids per category. A bid is valid from the opening of its auction until it expires, both ends included;
-- the reserve does not matter, and an auction without a valid bid counts nowhere. The average is cut off.
WITH auctions AS (
    SELECT id, category, date_time, expires
    FROM events
    WHERE event_type = 1
),
bids AS (
    SELECT auction, price, date_time
    FROM events
    WHERE event_type = 2
),
highest AS (
    SELECT id, category, max(price) AS price
    FROM auctions JOIN bids ON auction = id AND bids.date_time BETWEEN auctions.date_time AND expires
    GROUP BY id, category
)
SELECT
    category,
    count(*) AS auctions,
    sum(price)::BIGINT AS total_price,
    (sum(price) // count(*))::BIGINT AS average_price
FROM highest
GROUP BY category
