-- Clicks with the ad of the same identifier, unless they come too long before or after it.
SELECT id, ads.created AS shown, clicks.created AS clicked
FROM (FROM events WHERE kind = 'ad') AS ads JOIN (FROM events WHERE kind = 'click') AS clicks USING (id)
WHERE epoch_us(clicks.created) - epoch_us(ads.created) BETWEEN -$click_window_s * 1000000 AND $ad_window_s * 1000000
