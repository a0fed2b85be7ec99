-- The records whose value is a multiple of the divisor, with the value doubled and one added.
SELECT number, key, 2 * value + 1 AS value FROM events WHERE value % $divisor = 0
