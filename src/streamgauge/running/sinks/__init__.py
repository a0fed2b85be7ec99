"""Where the results of a run go, and what is there when it has ended."""
