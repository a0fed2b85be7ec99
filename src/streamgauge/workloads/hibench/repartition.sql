-- Every record, unchanged: a shuffle moves records and changes none.
SELECT created, line FROM events
