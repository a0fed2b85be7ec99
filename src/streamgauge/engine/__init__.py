"""Engines that run the queries under measurement."""
