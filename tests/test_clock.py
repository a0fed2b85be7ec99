import time

import pytest

from streamgauge.clock import MAX_SLEW, BoundedClock, Clock, ManualClock, SystemClock, clock_motion


def test_a_manual_clock_moves_only_when_someone_sleeps():
    clock = ManualClock(now_s=5.0)
    assert clock.monotonic_s() == clock.monotonic_s() == 5.0
    clock.sleep(2.5)
    assert clock.monotonic_s() == 7.5


def test_t3_a_jump_of_the_wall_clock_leaves_durations_alone():
    clock = ManualClock(wall_offset_s=1_000.0)
    before_s = clock.monotonic_s()
    clock.sleep(1.0)
    clock.wall_offset_s -= 3_600.0
    clock.sleep(1.0)
    assert clock.monotonic_s() - before_s == 2.0
    assert clock.wall_s() == 1_000.0 + 2.0 - 3_600.0


def test_the_system_clock_shows_the_machine_s_time():
    clock: Clock = SystemClock()
    before_s, wall_s, after_s = time.time(), clock.wall_s(), time.time()
    assert before_s <= wall_s <= after_s
    before_s, after_s = clock.monotonic_s(), clock.monotonic_s()
    assert before_s <= after_s
    clock.sleep(0.0)


def test_a_bounded_clock_shows_wall_time():
    clock = ManualClock(now_s=5.0, wall_offset_s=1_000.0)
    bounded: Clock = BoundedClock(clock)
    bounded.sleep(2.0)
    clock.wall_offset_s += 0.2
    assert bounded.wall_s() == clock.wall_s() == pytest.approx(1_007.2)
    assert bounded.monotonic_s() == 7.0


@pytest.mark.parametrize("step_s", [-3600.0, 3600.0])
def test_a_step_moves_a_bounded_clock_by_half_a_second_at_most(step_s):
    clock = ManualClock(wall_offset_s=1_000.0)
    bounded = BoundedClock(clock)
    clock.sleep(10.0)
    clock.wall_offset_s += step_s
    assert abs(bounded.wall_s() - 1_010.0) == pytest.approx(0.5, abs=0.01)
    clock.sleep(10.0)
    assert abs(bounded.wall_s() - 1_020.0) == pytest.approx(0.5, abs=0.02)


def readings(offset_s, seconds=40):
    """Wall and monotonic time once a second; the wall clock is ahead by what `offset_s` gives for the second."""
    clock = ManualClock(now_s=7.0)
    found = []
    for second in range(seconds + 1):
        clock.wall_offset_s = 1e9 + offset_s(second)
        found.append((clock.wall_s(), clock.monotonic_s()))
        clock.sleep(1.0)
    return found


def test_clocks_that_agree_are_steady():
    found = clock_motion(readings(lambda _: 0.0))
    assert found.is_steady
    assert (found.step_s, found.drift_s, found.elapsed_s) == (0.0, 0.0, 40.0)


@pytest.mark.parametrize("step_s", [3600.0, -3600.0, 0.2])
def test_t3_a_step_of_the_wall_clock_is_found_with_its_size_and_direction(step_s):
    found = clock_motion(readings(lambda second: step_s if second > 4 else 0.0))
    assert (found.has_stepped, found.is_steady) == (True, False)
    assert found.step_s == pytest.approx(step_s)


@pytest.mark.parametrize("ppm", [49_000, -49_000, 3_000])
def test_slewing_adds_up_over_the_whole_run(ppm):
    found = clock_motion(readings(lambda second: second * ppm * 1e-6))
    assert (found.has_stepped, found.is_steady) == (False, False)
    assert found.drift_s == pytest.approx(40 * ppm * 1e-6, rel=1e-6)


@pytest.mark.parametrize("seconds", [40, 4000])
def test_slewing_by_ntp_is_steady_however_long_it_lasts(seconds):
    found = clock_motion(readings(lambda second: second * MAX_SLEW, seconds))
    assert found.is_steady


@pytest.mark.parametrize("few", [[], [(1.0, 1.0)]])
def test_too_few_readings_show_no_motion(few):
    assert clock_motion(few).is_steady
