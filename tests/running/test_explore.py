"""Which runs have micro-batches of other sizes after their load, and how large those are."""

from dataclasses import replace

import pytest

from made_runs.samples import batch
from streamgauge.lookup import find_workload
from streamgauge.running.explore import AHEAD_US, WITH_STATE, WITHOUT_STATE, explores, informative, sizes
from streamgauge.settings.run_settings import parse_settings


@pytest.mark.parametrize(
    ("workload", "settings", "is_explored"),
    [
        ("ysb", {}, True),
        ("ysb", {"trigger": "2s", "rate": "1M", "duration": "60s"}, True),
        ("ysb", {"explore": False}, False),
        ("ysb", {"duration": "29s"}, False),
        ("ysb", {"load": "offline"}, False),
        ("ysb", {"load": "online"}, False),
        ("ysb", {"arrivals": "sine(phase=10s)"}, False),
        ("ysb", {"source": "kafka"}, False),
        ("ysb", {"sink": "redis"}, False),
        ("ysb", {"mode": "micro-batch-async", "sink": "kafka"}, False),
        # Results of these are files, or are learned from.
        ("nexmark-q10", {}, False),
        ("streambench-kmeans", {}, False),
    ],
)
def test_only_runs_whose_results_nobody_keeps_are_explored(workload, settings, is_explored):
    assert explores(parse_settings(**settings), find_workload(workload)) is is_explored


def test_sizes_are_those_of_the_usual_micro_batch_times_some_factors():
    batches = [batch(0, 0.0, 0, 9_000), batch(1, 1.0, 9_000, 10_000), batch(2, 2.0, 10_000, 11_000)]
    batches += [batch(3, 3.0, 11_000, 11_000), batch(4, 4.0, 11_000, 12_000)]
    found = list(sizes(batches, after_us=batches[1].emitted_us))
    assert found[: len(WITH_STATE)] == [(round(factor * 1_000), 0) for factor in WITH_STATE]
    assert found[len(WITH_STATE) :] == [(round(factor * 1_000), AHEAD_US) for factor in WITHOUT_STATE]
    assert list(sizes(batches, after_us=batches[-1].emitted_us + 1)) == []


def test_the_micro_batch_that_closes_all_windows_of_the_load_and_empty_ones_tell_nothing():
    marks = [5, 6, 6, 7, 7 + AHEAD_US, 8 + AHEAD_US, 9 + AHEAD_US]
    batches = [
        replace(batch(k, float(k), 100 * k, 100 * k + (0 if k == 2 else 100)), watermark_us=mark)
        for k, mark in enumerate(marks)
    ]
    assert [b.batch_id for b in informative(batches[:1], batches[1:])] == [1, 3, 5, 6]
    without = [replace(b, watermark_us=None) for b in batches]
    assert [b.batch_id for b in informative([], without)] == [1, 3, 4, 5, 6]
