-- Local items: auctions of category 10 whose seller lives in one of three states; both sides are kept for ever.
SELECT p.name, p.city, p.state, a.id
FROM auction AS a
JOIN person AS p ON a.seller = p.id
WHERE a.category = 10 AND p.state IN ('OR', 'ID', 'CA')
