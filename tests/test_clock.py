import time

from streamgauge.clock import Clock, ManualClock, SystemClock


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
    before_s, monotonic_s, after_s = time.monotonic(), clock.monotonic_s(), time.monotonic()
    assert before_s <= monotonic_s <= after_s
    clock.sleep(0.0)
