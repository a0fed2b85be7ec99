"""What others took of a machine, from readings whose differences are known."""

from dataclasses import replace

import pytest

from streamgauge.machine.process import ROLES
from streamgauge.measure.contention import (
    MAX_FOREIGN_SHARE,
    Contention,
    contention,
    contention_of,
    motion_of_clock,
    slowdown,
)
from streamgauge.measure.records import MachineReading, ResourceSample

FIRST = MachineReading(
    cores=2, busy_s=100.0, own_s=50.0, ran_s=40.0, waited_s=1.0, cpu_some_s=5.0, io_some_s=3.0, io_full_s=2.0,
    memory_some_s=0.0, memory_full_s=0.0, quota_cores=1.5, periods=1000, throttled_periods=10, frequency_hz=2e9,
)  # fmt: skip


def later(elapsed_s=10.0, **more):
    """Return the reading after some time in which counters grew by `more`, and what others took meanwhile."""
    last = replace(FIRST, **{name: getattr(FIRST, name) + value for name, value in more.items()})
    return contention(FIRST, last, elapsed_s)


def test_what_grew_between_two_readings_counts_and_nothing_from_before():
    found = later(
        busy_s=19.0, own_s=4.0, ran_s=3.0, waited_s=1.0, cpu_some_s=9.0, io_full_s=0.5, periods=100, throttled_periods=5
    )
    assert found.foreign_cores == pytest.approx(1.5)
    assert found.foreign_share == pytest.approx(0.75)
    assert found.waited_share == pytest.approx(0.25)
    assert (found.cpu_some_share, found.io_full_share) == pytest.approx((0.9, 0.05))
    assert found.throttled_share == pytest.approx(0.05)
    assert found.not_visible == ()


def test_the_cpu_of_others_is_never_negative():
    """The system counts in ticks, and may book the time of our processes before that of all."""
    assert later(busy_s=3.0, own_s=3.2).foreign_cores == 0.0


def test_what_a_system_does_not_show_is_missing_and_named():
    found = contention(MachineReading(), MachineReading(), 10.0)
    assert found == Contention()
    assert found.not_visible == (
        "CPU of other processes", "Spark's waiting for cores", "pressure stall information", "CPU quota",
        "clock frequency",
    )  # fmt: skip
    assert (found.level, found.is_contended, found.reasons) == (0.0, False, ())


def test_others_that_take_cores_for_which_spark_waits_are_contention_with_the_amount():
    found = later(busy_s=19.5, own_s=0.7, ran_s=0.6, waited_s=5.4)
    assert found.is_contended
    assert found.level == pytest.approx(0.94 / MAX_FOREIGN_SHARE)
    assert found.reasons == (
        "other processes used 1.9 of 2 cores on average, and Spark waited for a core 90% of the time it wanted one",
    )


def test_a_few_background_percent_are_no_contention():
    assert not later(busy_s=11.0, own_s=10.0, ran_s=8.0, waited_s=2.0).is_contended


def test_pressure_on_the_cpu_by_our_own_threads_is_no_excuse():
    found = later(busy_s=20.0, own_s=19.8, ran_s=19.0, waited_s=30.0, cpu_some_s=9.9)
    assert not found.is_contended
    assert found.notes == ()


def test_others_on_a_machine_with_cores_for_all_are_no_contention():
    found = Contention(cores=64, foreign_cores=16.0, waited_share=0.01)
    assert not found.is_contended
    assert found.reasons == ()
    assert replace(found, waited_share=None).is_contended, "without the witness, the CPU of others decides"


@pytest.mark.parametrize(
    ("found", "reason"),
    [
        (Contention(slowdown=1.3), "CPU contention: the reference loop ran 1.3× slower than on a quiet machine"),
        (Contention(stolen_share=0.2), "other tenants of this machine took 20% of its time"),
        (
            Contention(throttled_share=0.5, quota_cores=1.5),
            "the CPU quota of 1.5 cores was used up in 50% of its periods",
        ),
    ],
)
def test_each_witness_alone_is_enough(found, reason):
    assert found.is_contended
    assert found.reasons == (reason,)


@pytest.mark.parametrize("found", [Contention(slowdown=1.2), Contention(stolen_share=0.1)])
def test_at_its_limit_nothing_is_contended(found):
    assert not found.is_contended


@pytest.mark.parametrize(
    ("found", "part"),
    [
        (Contention(io_full_share=0.3), "waited for disks"),
        (Contention(memory_full_share=0.1), "waited for memory"),
        (Contention(stolen_share=0.07), "other tenants"),
    ],
)
def test_what_nobody_can_be_blamed_for_is_only_noted(found, part):
    assert not found.is_contended
    assert part in found.notes[0]


def sample(wall_s, monotonic_s, *, cpu_s=0.0, memory_bytes=0):
    return ResourceSample(
        at_us=round(wall_s * 1e6),
        monotonic_s=monotonic_s,
        cpu_s=dict.fromkeys(ROLES, cpu_s),
        memory_bytes=dict.fromkeys(ROLES, memory_bytes),
        stolen_s=0.0,
    )


def test_t3_a_step_of_the_wall_clock_is_found_in_the_samples():
    samples = [sample(100.0 + k - (3600.0 if k > 4 else 0.0), 5.0 + k) for k in range(10)]
    assert motion_of_clock(samples).step_s == pytest.approx(-3600.0)
    assert motion_of_clock([]).is_steady


def looked(mean_s, least_s):
    return replace(sample(1.0, 1.0), reference_loop_mean_s=mean_s, reference_loop_least_s=least_s)


def test_seconds_in_which_the_same_work_takes_longer_are_a_slowdown():
    quiet, disturbed = looked(0.51e-3, 0.5e-3), looked(0.8e-3, 0.5e-3)
    assert slowdown([quiet] * 10) == pytest.approx(1.02)
    assert slowdown([quiet] * 5 + [disturbed] * 5) == pytest.approx(1.31)


def test_a_processor_that_is_slow_in_most_seconds_is_slowed_down():
    assert slowdown([looked(0.5e-3, 0.5e-3)] * 3 + [looked(0.8e-3, 0.8e-3)] * 7) == pytest.approx(1.42)


def test_a_processor_that_is_as_slow_all_the_time_is_not_slowed_down():
    assert slowdown([looked(0.91e-3, 0.9e-3)] * 10) == pytest.approx(1.011, abs=1e-3)


def test_without_the_reference_loop_there_is_no_slowdown():
    assert slowdown([]) is None
    assert slowdown([sample(1.0, 1.0)] * 5) is None


def test_contention_counts_from_the_first_sample_to_the_last():
    machines = [
        MachineReading(cores=2, busy_s=50.0 + 2 * k, own_s=7.0 + k, frequency_hz=1e9 * (k + 1)) for k in range(3)
    ]
    found = contention_of([replace(sample(k, k), machine=one) for k, one in enumerate(machines)], 2)
    assert (found.foreign_cores, found.frequency_hz) == (1.0, 2e9)
    assert contention_of([sample(1.0, 1.0)], 2) is None
