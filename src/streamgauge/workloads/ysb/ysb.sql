-- Views per campaign and window. An ad's campaign is found from the order in which ads are made:
-- ads i * ads_per_campaign up to (i + 1) * ads_per_campaign - 1 belong to campaign i.
WITH ads AS (
    SELECT identifier('ad', i) AS ad_id, identifier('campaign', i // $ads_per_campaign) AS campaign_id
    FROM range($campaigns * $ads_per_campaign) AS numbers(i)
)
SELECT
    campaign_id,
    make_timestamptz((epoch_us(event_time) // ($window_s::BIGINT * 1000000)) * $window_s::BIGINT * 1000000) AS window_start,
    count(*) AS views
FROM events JOIN ads USING (ad_id)
WHERE event_type = 'view'
GROUP BY ALL
