-- Every record, unchanged.
SELECT created, line FROM events
