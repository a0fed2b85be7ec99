"""What all tests share."""

import os

from hypothesis import settings

# Tests ask whether answers are right, over short streams: Java's second compiler would take longer than it saves.
os.environ.setdefault("SPARK_SUBMIT_OPTS", "-XX:TieredStopAtLevel=1")

# Machines are shared and noisy: how long an example takes says nothing about what it shows.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")
