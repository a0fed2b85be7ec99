"""List scheduling of tasks on slots."""

import heapq

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.model import makespan
from streamgauge.model.schedule import run_stage

DURATIONS = st.lists(st.floats(0.0, 10.0), min_size=1, max_size=25)


def by_heap(durations, slots, dispatch=0.0, back=0.0):
    """The same with a heap of slots, one task after the other."""
    free, end = [0.0] * slots, 0.0
    for number, duration in enumerate(durations, 1):
        finish = max(number * dispatch, heapq.heappop(free)) + duration + back
        heapq.heappush(free, finish)
        end = max(end, finish)
    return end


def test_the_example_ends_after_eight():
    assert makespan([5, 3, 3, 2, 2, 1], 2) == 8


@given(DURATIONS, st.integers(1, 12), st.sampled_from([0.0, 0.05, 1.0]), st.sampled_from([0.0, 0.02]))
def test_arrays_end_when_a_heap_of_slots_says(durations, slots, dispatch, back):
    expected = by_heap(durations, slots, dispatch, back)
    assert makespan(durations, slots, dispatch_s=dispatch, return_s=back) == pytest.approx(expected)


@given(DURATIONS, st.integers(1, 8))
def test_a_stage_ends_within_grahams_bounds(durations, slots):
    # Graham 1969; tasks cost nothing but their duration.
    share, longest = sum(durations) / slots, max(durations)
    high = share + (1 - 1 / slots) * longest
    assert max(share, longest) - 1e-9 <= makespan(durations, slots) <= high + 1e-9


@given(DURATIONS, st.integers(1, 8))
def test_one_slot_takes_the_sum_and_enough_slots_the_longest(durations, slots):
    assert makespan(durations, 1) == pytest.approx(sum(durations))
    assert makespan(durations, len(durations) + slots - 1) == pytest.approx(max(durations))


@pytest.mark.parametrize("slots", [1, 2, 3, 9])
def test_columns_do_not_know_of_each_other(slots):
    tasks = np.random.default_rng(1).random((11, 5))
    together = makespan(tasks, slots)
    assert together == pytest.approx([float(makespan(column, slots)) for column in tasks.T])


def test_independent_stages_share_the_slots():
    free = np.zeros((2, 1))
    first = run_stage(free, np.zeros(1), np.array([[4.0], [1.0]]))
    second = run_stage(free, np.zeros(1), np.array([[2.0], [2.0]]))
    assert (first.item(), second.item()) == (4.0, 5.0)
    assert sorted(free.ravel().tolist()) == [4.0, 5.0]
