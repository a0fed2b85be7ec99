"""What all tests share."""

import pytest
from hypothesis import settings

# Machines are shared and noisy: how long an example takes says nothing about what it shows.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


@pytest.fixture
def shelf(tmp_path):
    """A folder of runs that are stored on demand."""
    from made_runs.shelf import Shelf

    return Shelf(tmp_path / "runs")
