"""The cost of tasks, windows and state."""

import numpy as np
import pytest

from streamgauge.model import OutputCurve, TaskCost, contention
from streamgauge.model.state import StateGrowth
from streamgauge.model.windows import closings


def test_a_task_waits_and_works():
    cost = TaskCost(0.01, 0.02, 1e-6, 2e-6, 3e-6)
    assert cost.seconds(1000, written=500, state=100) == pytest.approx(0.01 + 0.02 + 0.001 + 0.001 + 0.0003)


def test_contention_slows_the_work_but_not_the_wait():
    cost = TaskCost(wait_s=0.05, fixed_s=0.01)
    assert cost.seconds(0, slowdown=2.0) == pytest.approx(0.05 + 0.02)


def test_work_of_other_processes_is_waited_for():
    assert TaskCost(per_row_s=1e-6, outside=3.0).seconds(1000) == pytest.approx(0.004)


def test_there_is_no_contention_while_processors_are_free():
    slowdown = contention([1, 2, 3, 4], background=0.5, processors=3)
    assert slowdown.tolist() == [1.0, 1.0, pytest.approx(3.5 / 3), 1.5]


def test_every_window_end_is_passed_once():
    watermarks = np.cumsum(np.random.default_rng(1).random(500))
    passed = closings(watermarks[1:], watermarks[:-1], 0.7)
    assert passed.sum() == watermarks[-1] // 0.7 - watermarks[0] // 0.7
    assert set(passed) <= {0.0, 1.0, 2.0}


def test_a_watermark_that_stands_closes_nothing():
    assert closings([5.0, 4.0], [5.0, 5.0], 1.0).tolist() == [0.0, 0.0]


def test_state_grows_until_events_are_evicted():
    state = StateGrowth(OutputCurve(0.5), retention_s=20.0)
    assert state.held([0, 10, 20, 500], 100.0).tolist() == [0, 500, 1000, 1000]


def test_state_of_known_keys_is_level_without_eviction():
    assert StateGrowth(OutputCurve(1.0, 50.0)).held(1000.0, 10.0) == pytest.approx(50.0)
