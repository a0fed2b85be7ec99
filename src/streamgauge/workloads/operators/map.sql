-- Every record, with its value doubled and one added.
SELECT number, key, 2 * value + 1 AS value FROM events
