CREATE TABLE events (
  event_type INT,
  id BIGINT,
  name STRING,
  email_address STRING,
  credit_card STRING,
  city STRING,
  state STRING,
  item_name STRING,
  description STRING,
  initial_bid BIGINT,
  reserve BIGINT,
  expires TIMESTAMP(3),
  seller BIGINT,
  category BIGINT,
  auction BIGINT,
  bidder BIGINT,
  price BIGINT,
  channel STRING,
  url STRING,
  date_time TIMESTAMP(3),
  extra STRING,
  WATERMARK FOR date_time AS date_time - INTERVAL '4' SECOND
) WITH (
  'connector' = 'nexmark-events',
  'events' = '${events}',
  'events-per-second' = '${rate}'
);

CREATE VIEW person AS
SELECT id, name, email_address, credit_card, city, state, date_time, extra
FROM events
WHERE event_type = 0;

CREATE VIEW auction AS
SELECT id, item_name, description, initial_bid, reserve, date_time, expires, seller, category, extra
FROM events
WHERE event_type = 1;

CREATE VIEW bid AS
SELECT auction, bidder, price, channel, url, date_time, extra
FROM events
WHERE event_type = 2;
