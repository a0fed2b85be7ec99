"""Connections to systems outside of the engine."""
