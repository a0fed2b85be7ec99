-- Every bid with the number of its channel: that of four known channels, whatever the case of their letters, else the
-- channel_id of the url. Bids with neither are left out; an empty channel_id counts as none.
SELECT
    auction,
    bidder,
    price,
    channel,
    CASE lower(channel)
        WHEN 'apple' THEN '0'
        WHEN 'google' THEN '1'
        WHEN 'facebook' THEN '2'
        WHEN 'baidu' THEN '3'
        ELSE nullif(regexp_extract(url, '(&|^)channel_id=([^&]*)', 2), '')
    END AS channel_id
FROM events
WHERE event_type = 2 AND channel_id IS NOT NULL
