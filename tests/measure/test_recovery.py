import numpy as np
import pytest

from streamgauge.measure.recovery import find_recovery, series_recovery

START_S, END_S, UNTIL_S = 60.0, 70.0, 200.0
CAPACITY, BASE, SPIKE = 1000.0, 400.0, 3000.0
STEP_S = 0.25
WINDOW = {"spike_start_s": START_S, "spike_end_s": END_S}


def fluid_backlog(t, *, capacity=CAPACITY, base=BASE, spike=SPIKE):
    """The queue of a fluid that comes at the base rate, at the spike's rate from 60 to 70 s, and leaves at capacity."""
    rising = np.clip(t - START_S, 0, END_S - START_S) * (spike - capacity)
    return np.maximum(0.0, rising - np.maximum(0.0, t - END_S) * (capacity - base))


def fluid(*, until_s=UNTIL_S, level=0.0, level_s=0.0, **rates):
    """Backlog and latency of the fluid queue; each has a usual level besides. What leaves at t came at a."""
    came = np.arange(0.0, until_s, STEP_S)
    queue, capacity = fluid_backlog(came, **rates), rates.get("capacity", CAPACITY)
    wait_s = queue / capacity
    return (came, queue + level), (came + wait_s, wait_s + level_s)


def test_a_fluid_queue_recovers_when_its_closed_form_says():
    """It rises by 2000/s for 10 s and falls by 600/s: at most 20,000 events, which wait 20 s; gone after 33.3 s."""
    found = find_recovery(*fluid(), **WINDOW)
    assert (found.backlog.peak, found.backlog.peak_at_s) == (20_000.0, 70.0)
    assert (found.latency.peak, found.latency.peak_at_s) == (20.0, 90.0)
    assert found.time_to_recover_s == pytest.approx(20_000 / 600, abs=STEP_S)
    assert found.time_to_recover_s >= 20_000 / 600
    assert found.reason == "backlog: back to normal 33.5 s after the spike"


@pytest.mark.parametrize("capacity", [700.0, 1500.0, 2500.0])
@pytest.mark.parametrize("base", [100.0, 400.0])
@pytest.mark.parametrize("spike", [2600.0, 4000.0])
def test_recovery_takes_the_surplus_by_the_spare_capacity(capacity, base, spike):
    found = find_recovery(*fluid(until_s=400.0, capacity=capacity, base=base, spike=spike), **WINDOW)
    peak = (spike - capacity) * (END_S - START_S)
    assert found.backlog.peak == pytest.approx(peak)
    assert found.latency.peak == pytest.approx(peak / capacity)
    assert found.time_to_recover_s == pytest.approx(peak / (capacity - base), abs=STEP_S)


def test_a_tenth_above_the_usual_level_counts_as_normal():
    found = find_recovery(*fluid(level=5000.0, level_s=2.0), **WINDOW)
    assert (found.backlog.band, found.latency.band) == (pytest.approx(5500), pytest.approx(2.2))
    assert found.backlog.time_to_recover_s == pytest.approx((20_000 - 500) / 600, abs=STEP_S)
    # The event that waits 0.2 s longer than usual comes 200 events before the queue is empty, and leaves 0.2 s later.
    expected_s = (20_000 - 200) / 600 + 0.2
    assert found.latency.time_to_recover_s == pytest.approx(expected_s, abs=STEP_S)
    assert found.time_to_recover_s == max(found.backlog.time_to_recover_s, found.latency.time_to_recover_s)


def test_a_noisy_level_widens_the_band_and_its_noise_is_no_relapse():
    rng = np.random.default_rng(1)
    (t, backlog), latency = fluid(level=1000.0)
    noisy = backlog + rng.exponential(500.0, len(t))
    found = find_recovery((t, noisy), latency, **WINDOW)
    assert found.backlog.band > np.max(noisy[t < START_S])
    drained_s = (20_000 - (found.backlog.band - 1000)) / 600
    assert drained_s <= found.backlog.time_to_recover_s <= 20_000 / 600 + STEP_S


@pytest.mark.parametrize("until_s", [75.0, 95.0, 103.0])
def test_a_run_that_ends_too_early_has_not_recovered(until_s):
    found = find_recovery(*fluid(until_s=until_s), **WINDOW)
    assert (found.time_to_recover_s, found.backlog.time_to_recover_s) == (None, None)
    assert found.backlog.peak == 20_000.0
    assert found.reason.startswith("backlog: not back to normal at ")


def test_a_queue_that_never_gets_smaller_has_not_recovered():
    found = find_recovery(*fluid(base=CAPACITY), **WINDOW)
    assert found.time_to_recover_s is None
    assert found.reason == "backlog: not back to normal at 129.8 s after the spike, when it was last seen"


def test_one_quantity_that_stays_up_means_that_nothing_has_recovered():
    backlog, (t, latency_s) = fluid()
    found = find_recovery(backlog, (t, np.where(t > START_S, 9.0, latency_s)), **WINDOW)
    assert found.backlog.time_to_recover_s is not None
    assert (found.time_to_recover_s, found.latency.time_to_recover_s) == (None, None)
    assert found.reason.startswith("latency: not back")


def test_a_relapse_moves_the_recovery_behind_it():
    (t, backlog), latency = fluid()
    backlog = backlog + np.where((t >= 150) & (t < 160), 8000.0, 0.0)
    assert find_recovery((t, backlog), latency, **WINDOW).time_to_recover_s == pytest.approx(90.0)


def test_what_happens_long_after_the_recovery_is_told_and_is_no_relapse():
    """What is normal was seen for 60 s, and the query was back for longer than that."""
    (t, backlog), latency = fluid()
    disturbed = backlog + np.where((t >= 170) & (t < 172), 8000.0, 0.0)
    found = find_recovery((t, disturbed), latency, **WINDOW)
    assert found.time_to_recover_s == pytest.approx(33.5)
    assert found.reason == "backlog: back to normal 33.5 s after the spike, until 100 s after it"
    flat = series_recovery((t, np.where(t == 190.0, 9.0, 1.0)), **WINDOW)
    assert (flat.time_to_recover_s, flat.reason) == (
        0.0,
        "not beyond what it was before the spike, until 120 s after it",
    )


def test_a_spike_within_capacity_needs_no_recovery():
    found = find_recovery(*fluid(spike=900.0, level=100.0, level_s=0.1), **WINDOW)
    assert found.time_to_recover_s == 0.0
    assert found.reason == "backlog: never beyond what it was before the spike"


def test_nothing_seen_after_the_spike_is_not_a_recovery():
    (t, backlog), _ = fluid(until_s=65.0)
    found = series_recovery((t, backlog), **WINDOW)
    assert (found.time_to_recover_s, found.reason) == (None, "nothing was seen after the spike")
    flat = series_recovery((t, 0 * backlog + 7), **WINDOW)
    assert (flat.time_to_recover_s, flat.peak) == (None, 7.0)


def test_two_points_back_inside_are_too_few():
    times_s = np.arange(80.0)
    values = np.where((times_s >= 60) & (times_s < 78), 50.0, 1.0)
    assert series_recovery((times_s, values), **WINDOW).time_to_recover_s is None
    values[77] = 1.0
    assert series_recovery((times_s, values), **WINDOW).time_to_recover_s == 7.0


def test_without_a_time_before_the_spike_nothing_is_normal():
    (t, backlog), latency = fluid()
    late = t >= START_S - 3 * STEP_S
    found = find_recovery((t[late], backlog[late]), latency, **WINDOW)
    assert (found.backlog.band, found.time_to_recover_s) == (None, None)
    assert found.reason == "backlog: seen 3 times before the spike, and what is normal needs 5"
    assert found.backlog.peak == 20_000.0


def test_the_warm_up_does_not_tell_what_is_normal():
    (t, backlog), _ = fluid(level=100.0)
    backlog = backlog + np.where(t < 10, 50_000.0, 0.0)
    assert series_recovery((t, backlog), **WINDOW).time_to_recover_s == 0.0
    settled = series_recovery((t, backlog), **WINDOW, settled_from_s=10.0)
    assert settled.band == pytest.approx(110.0)
    assert settled.time_to_recover_s == pytest.approx((20_000 - 10) / 600, abs=STEP_S)


@pytest.mark.parametrize(
    ("series", "window", "message"),
    [
        (([0.0, 1.0], [0.0]), WINDOW, "one value"),
        (([0.0, np.nan], [0.0, 0.0]), WINDOW, "finite"),
        (([1.0, 0.0], [0.0, 0.0]), WINDOW, "decrease"),
        (([0.0], [0.0]), {"spike_start_s": 5.0, "spike_end_s": 5.0}, "a spike cannot last from 5.0 s to 5.0 s"),
    ],
)
def test_series_and_spikes_that_cannot_be_are_refused(series, window, message):
    with pytest.raises(ValueError, match=message):
        series_recovery(series, **window)


def test_a_point_at_the_start_of_the_spike_belongs_to_it():
    t = np.arange(0.0, 20.0)
    y = np.where(t == 10.0, 50.0, 1.0)
    found = series_recovery((t, y), spike_start_s=10.0, spike_end_s=11.0)
    assert (found.peak, found.peak_at_s, found.band) == (50.0, 10.0, pytest.approx(1.1))
    earlier = series_recovery((t, y), spike_start_s=10.5, spike_end_s=11.0)
    assert (earlier.peak, earlier.band) == (1.0, pytest.approx(1.0 + 2 * 49.0))


def test_what_was_seen_before_it_settled_does_not_tell_what_is_normal():
    t = np.arange(0.0, 20.0)
    y = np.where(t < 5.0, 50.0, 1.0)
    assert series_recovery((t, y), spike_start_s=10.0, spike_end_s=11.0, settled_from_s=5.0).band == pytest.approx(1.1)
    few = series_recovery((t, y), spike_start_s=10.0, spike_end_s=11.0, settled_from_s=5.1)
    assert (few.band, few.time_to_recover_s) == (None, None)
    assert few.reason == "seen 4 times before the spike, and what is normal needs 5"
