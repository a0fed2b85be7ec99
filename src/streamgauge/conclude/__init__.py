"""From evidence to conclusions: measured window, findings, verdict, summary, comparison. Pure functions."""
