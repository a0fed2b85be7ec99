from dataclasses import replace

import pytest

from streamgauge.clock import ManualClock
from streamgauge.engine.resources import (
    LOOKS,
    ROLES,
    ResourceSample,
    ResourceSampler,
    clock_jump_s,
    look_s,
    resources_table,
    slowdown,
)

# Beyond the largest process number of Linux.
NOBODY = 2**22 + 1


def sample(wall_s, monotonic_s, *, cpu_s=0.0, memory_bytes=0):
    return ResourceSample(
        at_us=round(wall_s * 1e6),
        monotonic_s=monotonic_s,
        cpu_s=dict.fromkeys(ROLES, cpu_s),
        memory_bytes=dict.fromkeys(ROLES, memory_bytes),
        stolen_s=0.0,
    )


def test_clocks_that_agree_have_no_jump():
    assert clock_jump_s([sample(100.0 + k, 5.0 + k) for k in range(10)]) == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("jump_s", [3600.0, -3600.0, 0.2])
def test_t3_a_jump_of_the_wall_clock_is_found_at_full_size(jump_s):
    samples = [sample(100.0 + k + (jump_s if k > 4 else 0.0), 5.0 + k) for k in range(10)]
    assert clock_jump_s(samples) == pytest.approx(abs(jump_s))


def test_a_slow_drift_is_no_jump():
    samples = [sample(100.0 + 1.001 * k, 5.0 + k) for k in range(100)]
    assert clock_jump_s(samples) == pytest.approx(0.001, abs=1e-6)


@pytest.mark.parametrize("samples", [[], [sample(1.0, 1.0)]])
def test_too_few_samples_show_no_jump(samples):
    assert clock_jump_s(samples) == 0.0


def test_the_table_has_a_row_per_sample_and_columns_per_role():
    table = resources_table([sample(1.0, 0.0, cpu_s=0.5, memory_bytes=10), sample(2.0, 1.0)])
    assert table.num_rows == 2
    assert {f"{role}_{what}" for role in ROLES for what in ("cpu_s", "memory_bytes")} < set(table.column_names)
    assert table.to_pylist()[0]["java_cpu_s"] == 0.5
    assert resources_table([]).num_rows == 0


def test_a_sampler_takes_a_sample_when_it_starts_and_another_when_it_stops():
    clock = ManualClock(now_s=7.0, wall_offset_s=1_000.0)
    sampler = ResourceSampler(NOBODY, clock)
    sampler.start()
    sampler.stop()
    assert len(sampler.samples) >= 2
    first = sampler.samples[0]
    assert (first.at_us, first.monotonic_s) == (1_007_000_000, 7.0)
    assert first.memory_bytes["tool"] > 0
    assert first.cpu_s["tool"] > 0.0


def test_a_java_process_that_is_gone_uses_nothing():
    sampler = ResourceSampler(NOBODY, ManualClock())
    sampler.start()
    sampler.stop()
    assert sampler.samples[-1].memory_bytes["java"] == 0
    assert sampler.samples[-1].cpu_s["python_workers"] == 0.0


def looked(mean_s, least_s):
    return replace(sample(1.0, 1.0), look_mean_s=mean_s, look_least_s=least_s)


def test_seconds_in_which_the_same_work_takes_longer_are_a_slowdown():
    quiet, disturbed = looked(0.51e-3, 0.5e-3), looked(0.8e-3, 0.5e-3)
    assert slowdown([quiet] * 10) == pytest.approx(1.02)
    assert slowdown([quiet] * 5 + [disturbed] * 5) == pytest.approx(1.31)


def test_a_processor_that_is_slow_in_most_seconds_is_slowed_down():
    assert slowdown([looked(0.5e-3, 0.5e-3)] * 3 + [looked(0.8e-3, 0.8e-3)] * 7) == pytest.approx(1.42)


def test_a_processor_that_is_as_slow_all_the_time_is_not_slowed_down():
    assert slowdown([looked(0.91e-3, 0.9e-3)] * 10) == pytest.approx(1.011, abs=1e-3)


def test_runs_without_looks_tell_no_slowdown():
    assert slowdown([]) is None
    assert slowdown([sample(1.0, 1.0)] * 5) is None


def test_the_sampler_looks_at_the_processor_before_every_sample():
    looks = iter([5e-4, 6e-4, *[4e-4] * 100])
    sampler = ResourceSampler(NOBODY, ManualClock(), look=lambda: next(looks))
    sampler.start()
    sampler.stop()
    first, second = sampler.samples[:2]
    assert (first.look_mean_s, first.look_least_s) == (5e-4, 5e-4)
    assert second.look_least_s <= second.look_mean_s <= 6e-4
    assert 100 - len(list(looks)) <= LOOKS


def test_the_work_that_is_always_the_same_takes_some_time():
    assert 0 < min(look_s() for _ in range(5)) < 0.1
