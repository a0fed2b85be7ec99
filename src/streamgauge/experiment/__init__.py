"""Experiments: what a user asks, turned into runs and conclusions."""
