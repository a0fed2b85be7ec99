-- Channel id: a fixed one for the four large channels, else the one in the url; bids with neither are dropped.
SELECT auction, bidder, price, channel, channel_id
FROM (
  SELECT
    auction, bidder, price, channel,
    CASE LOWER(channel)
      WHEN 'apple' THEN '0'
      WHEN 'google' THEN '1'
      WHEN 'facebook' THEN '2'
      WHEN 'baidu' THEN '3'
      ELSE REGEXP_EXTRACT(url, '(&|^)channel_id=([^&]*)', 2)
    END AS channel_id
  FROM bid
)
WHERE channel_id IS NOT NULL
