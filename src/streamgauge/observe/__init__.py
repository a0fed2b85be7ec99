"""Queries that streamgauge did not start: running ones, and event logs of past ones."""
