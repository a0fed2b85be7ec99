-- The records whose value is a multiple of the divisor, unchanged.
SELECT number, key, value FROM events WHERE value % $divisor = 0
