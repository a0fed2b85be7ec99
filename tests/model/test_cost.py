"""The cost of tasks, windows and state."""

import numpy as np
import pytest

from streamgauge.model import OutputCurve, TaskCost, contention
from streamgauge.model.state import StateGrowth
from streamgauge.model.windows import append_delay_s, closings, count_window_delay_s, windows_alive


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


def test_a_record_waits_for_its_window_as_a_draw_says():
    rng = np.random.default_rng(4)
    length, delay, period = 10.0, 2.0, 1.5
    at = rng.random(200_000) * length
    # The first look at or after the watermark has passed, and one micro-batch more.
    seen = rng.random(200_000) * period
    assert append_delay_s(length_s=length, delay_s=delay, period_s=period) == pytest.approx(
        np.mean(length - at + delay + seen + period), rel=0.005
    )


def test_a_record_waits_for_half_of_the_others_of_its_count_window():
    rate, count = 4.0, 9
    assert count_window_delay_s(count=count, rate_per_s=rate) == pytest.approx(np.mean(np.arange(count)) / rate)


def test_more_windows_are_alive_the_longer_they_wait():
    assert windows_alive(length_s=10, slide_s=2, delay_s=4, period_s=0) == 7


def test_state_grows_until_events_are_evicted():
    state = StateGrowth(OutputCurve(0.5), retention_s=20.0)
    assert state.held([0, 10, 20, 500], 100.0).tolist() == [0, 500, 1000, 1000]


def test_state_of_known_keys_is_level_without_eviction():
    assert StateGrowth(OutputCurve(1.0, 50.0)).held(1000.0, 10.0) == pytest.approx(50.0)
