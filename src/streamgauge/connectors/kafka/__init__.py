"""Kafka: clients, records and their formats, the load generator, results read from a topic."""
