-- Mean price of each seller's latest winning bids, a half rounded up, and how many winning bids there are in all.
-- Latest is by the time of the bid, then by its price. Winners are as in q9: the highest bid that reaches the reserve
-- before the auction expires, the earliest of equal ones.
WITH auctions AS (
    SELECT id, seller, reserve, expires
    FROM events
    WHERE event_type = 1
),
bids AS (
    SELECT auction, price, date_time
    FROM events
    WHERE event_type = 2
),
winners AS (
    SELECT seller, price, bids.date_time
    FROM auctions JOIN bids ON auction = id AND bids.date_time < expires AND price >= reserve
    QUALIFY row_number() OVER (PARTITION BY id ORDER BY price DESC, bids.date_time) = 1
),
ranked AS (
    SELECT seller, price, row_number() OVER (PARTITION BY seller ORDER BY date_time DESC, price DESC) AS place
    FROM winners
)
SELECT
    seller,
    (
        (2 * sum(price) FILTER (WHERE place <= $last) + count(*) FILTER (WHERE place <= $last))
        // (2 * count(*) FILTER (WHERE place <= $last))
    )::BIGINT AS average_price,
    count(*) AS winners
FROM ranked
GROUP BY seller
