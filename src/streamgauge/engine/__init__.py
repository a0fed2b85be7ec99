"""Spark: the session, the embedded source, the life of a query, and what it tells about itself."""
