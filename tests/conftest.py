"""What all tests share."""

from hypothesis import settings

# Machines are shared and noisy: how long an example takes says nothing about what it shows.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")
