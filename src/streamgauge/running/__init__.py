"""One run: its phases, where events come from, where results go, and what ends a latency."""
