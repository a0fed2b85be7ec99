"""Experiments: a user's question, answered by runs."""
