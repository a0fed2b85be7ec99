import numpy as np
import pytest

from streamgauge.arrivals import Constant, Schedule
from streamgauge.measure import Histogram, window_latency
from streamgauge.measure.windows import _window_ends_us

from .samples import ORIGIN_US, make_batch

# One event per second; ORIGIN_US is a multiple of 10 s, so windows of 10 s end at 10, 20, 30, ...
SCHEDULE = Constant(1.0).schedule(40.0)


def tumbling(batches, mode, *, schedule=SCHEDULE, delay_s=0.0, window_s=10.0, slide_s=10.0):
    return window_latency(
        batches,
        window_s=window_s,
        slide_s=slide_s,
        schedule=schedule,
        origin_us=ORIGIN_US,
        mode=mode,
        delay_s=delay_s,
    )


def latencies_s(histogram):
    return [low_us / 1e6 for low_us, _, count in histogram.to_rows() for _ in range(count)]


def test_t6_appended_windows_wait_for_the_watermark():
    batches = [
        make_batch(0, 0, 12, emitted_s=12.5, watermark_s=-ORIGIN_US / 1e6),
        make_batch(1, 12, 14, emitted_s=14.5, watermark_s=9),
        make_batch(2, 14, 25, emitted_s=26, watermark_s=11),
        make_batch(3, 25, 25, emitted_s=27, watermark_s=22),
    ]
    histogram = tumbling(batches, "append", delay_s=2.0)
    assert histogram.count == 2
    assert (histogram.min_us, histogram.max_us) == (7_000_000, 16_000_000)


def test_the_first_event_alone_fills_a_window():
    schedule = Constant(0.1).schedule(60.0)
    times_us = schedule.times_us(np.arange(schedule.total))
    windows = np.unique(times_us // 10_000_000)
    found = _window_ends_us(schedule, ORIGIN_US, schedule.total, 10_000_000, 10_000_000) - ORIGIN_US
    assert np.diff(times_us).min() >= 10_000_000
    assert found.tolist() == [end for end in (windows + 1) * 10_000_000 if end <= times_us[-1]]


def test_t6_a_watermark_exactly_at_the_end_closes_the_window():
    batches = [make_batch(0, 0, 11, watermark_s=0), make_batch(1, 11, 12, emitted_s=12.25, watermark_s=10)]
    assert tumbling(batches, "append").max_us == 2_250_000


def test_t6_one_batch_can_close_several_windows():
    batches = [make_batch(0, 0, 35, watermark_s=0), make_batch(1, 35, 36, emitted_s=36, watermark_s=34)]
    histogram = tumbling(batches, "append")
    assert histogram.count == 3
    assert histogram.sum_us == (26 + 16 + 6) * 1e6


def test_t6_a_window_whose_watermark_never_came_is_not_counted():
    batches = [make_batch(0, 0, 15, watermark_s=0), make_batch(1, 15, 16, watermark_s=9.999)]
    assert tumbling(batches, "append") == Histogram.empty()


def test_windows_closed_before_the_first_batch_are_not_charged_to_it():
    batches = [
        make_batch(5, 25, 26, emitted_s=27, watermark_s=24),
        make_batch(6, 26, 32, emitted_s=33, watermark_s=31),
    ]
    histogram = tumbling(batches, "append")
    assert (histogram.count, histogram.max_us) == (1, 3_000_000)


def test_an_unreported_watermark_follows_from_the_events_before_and_the_delay():
    batches = [
        make_batch(0, 0, 13, emitted_s=13.5),
        make_batch(1, 13, 14, emitted_s=14.5),
        make_batch(2, 14, 15, emitted_s=15.5),
    ]
    assert tumbling(batches, "append", delay_s=2.0).max_us == 4_500_000
    assert tumbling(batches, "append", delay_s=3.0).max_us == 5_500_000
    assert tumbling(batches, "append", delay_s=4.0) == Histogram.empty()


def test_t6_an_updated_window_is_final_with_the_batch_of_its_last_event():
    batches = [
        make_batch(0, 0, 9, emitted_s=9.5),
        make_batch(1, 9, 10, emitted_s=10.75),
        make_batch(2, 10, 21, emitted_s=21.5),
    ]
    histogram = tumbling(batches, "update")
    assert histogram.count == 2
    assert (histogram.min_us, histogram.max_us) == (750_000, 1_500_000)


def test_t6_an_event_exactly_at_the_end_belongs_to_the_next_window():
    batches = [make_batch(0, 0, 10, emitted_s=10.25), make_batch(1, 10, 11, emitted_s=18)]
    assert tumbling(batches, "update").max_us == 250_000


def test_t6_a_late_batch_makes_its_window_late_at_full_size():
    batches = [make_batch(0, 0, 5, emitted_s=5), make_batch(1, 5, 30, emitted_s=31)]
    histogram = tumbling(batches, "update")
    assert (histogram.count, histogram.max_us) == (2, 21_000_000)


def test_a_result_visible_before_the_end_has_latency_zero():
    batches = [make_batch(0, 0, 10, emitted_s=9.5), make_batch(1, 10, 11, emitted_s=11)]
    assert tumbling(batches, "update").max_us == 0


def test_a_window_still_open_at_the_latest_event_is_not_counted():
    assert tumbling([make_batch(0, 0, 10, emitted_s=12)], "update") == Histogram.empty()


def test_windows_before_the_first_batch_are_not_counted_in_update_mode():
    histogram = tumbling([make_batch(3, 12, 31, emitted_s=32)], "update")
    assert histogram.count == 2


@pytest.mark.parametrize("mode", ["append", "update"])
def test_t6_windows_without_events_are_skipped(mode):
    # Ten events from 0 s to 10 s, none until 30 s, ten from 30 s to 40 s.
    schedule = Schedule(np.array([0, 10, 30, 40]) * 1_000_000, np.array([0, 10, 10, 20]))
    batches = [
        make_batch(0, 0, 10, emitted_s=10.5, watermark_s=0),
        make_batch(1, 10, 12, emitted_s=32, watermark_s=9),
        make_batch(2, 12, 13, emitted_s=33, watermark_s=31),
    ]
    histogram = tumbling(batches, mode, schedule=schedule)
    assert histogram.count == 1
    assert histogram.max_us == (23_000_000 if mode == "append" else 500_000)


def test_t6_sliding_windows_each_count_from_their_own_end():
    batches = [make_batch(0, 0, 10, emitted_s=10.5), make_batch(1, 10, 20, emitted_s=20.25)]
    histogram = tumbling(batches, "update", slide_s=5.0)
    # Ends at 5, 10 and 15 s.
    assert histogram.count == 3
    assert histogram.sum_us == (5.5 + 0.5 + 5.25) * 1e6


def test_windows_are_aligned_to_the_epoch_and_not_to_the_load():
    batches = [make_batch(0, 0, 20, emitted_s=20)]
    histogram = window_latency(
        batches,
        window_s=10,
        slide_s=10,
        schedule=SCHEDULE,
        origin_us=ORIGIN_US - 4_000_000,
        mode="update",
        delay_s=0,
    )
    assert latencies_s(histogram) == pytest.approx([10, 20], rel=0.01)


@pytest.mark.parametrize("mode", ["append", "update"])
def test_events_that_were_never_offered_close_no_window(mode):
    batches = [make_batch(0, 0, 25, emitted_s=25), make_batch(1, 25, 40, emitted_s=41), make_batch(2, 45, 50)]
    beyond = [*batches[:1], make_batch(1, 25, 45, emitted_s=41), batches[2]]
    assert tumbling(beyond, mode) == tumbling(batches, mode)


def test_t6_no_batches_or_no_events_give_an_empty_histogram():
    assert tumbling([], "update") == Histogram.empty()
    assert tumbling([make_batch(0, 0, 0)], "append") == Histogram.empty()


@pytest.mark.parametrize(("first", "windows"), [(9, 2), (10, 1)])
def test_updated_windows_count_when_their_last_event_is_in_the_first_batch(first, windows):
    batches = [make_batch(0, first, 12, emitted_s=12.5), make_batch(1, 12, 21, emitted_s=21.5)]
    assert tumbling(batches, "update").count == windows


def test_an_event_just_before_the_end_of_a_window_is_its_last():
    # An event per microsecond around the end of the first window.
    schedule = Schedule(np.array([0, 10_000_000 - 5, 10_000_000 + 5]), np.array([0, 1, 11]))
    batches = [
        make_batch(0, 0, 5, emitted_s=11.0),
        make_batch(1, 5, 6, emitted_s=13.0),
        make_batch(2, 6, 11, emitted_s=15.0),
    ]
    assert latencies_s(tumbling(batches, "update", schedule=schedule)) == pytest.approx([3.0], rel=0.01)
