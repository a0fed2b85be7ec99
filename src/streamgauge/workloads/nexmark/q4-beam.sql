-- Mean winning price per category and sliding window, a half rounded up.
-- The winner is the highest bid that reaches the reserve before the auction expires, even one made before the auction
-- opened. It counts one millisecond before the auction expires.
WITH auctions AS (
    SELECT id, category, reserve, expires
    FROM events
    WHERE event_type = 1
),
bids AS (
    SELECT auction, price, date_time
    FROM events
    WHERE event_type = 2
),
winners AS (
    SELECT id, category, expires - INTERVAL 1 millisecond AS won, max(price) AS price
    FROM auctions JOIN bids ON auction = id AND bids.date_time < expires AND price >= reserve
    GROUP BY ALL
),
windowed AS (
    SELECT
        time_bucket(to_seconds($slide_s), won, TIMESTAMPTZ 'epoch') - to_seconds(back_s) AS window_start,
        category,
        price
    FROM winners, range(0, $window_s, $slide_s) AS slides(back_s)
    WHERE won < window_start + to_seconds($window_s)
)
SELECT window_start, category, ((2 * sum(price) + count(*)) // (2 * count(*)))::BIGINT AS average_price
FROM windowed
GROUP BY window_start, category
