import subprocess
import sys

from streamgauge.clock import ManualClock
from streamgauge.machine.process import ROLES
from streamgauge.machine.resources import REFERENCE_LOOPS, ResourceSampler, reference_loop_s, watch_machine
from streamgauge.measure.records import ResourceSample

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


def test_the_reference_loop_runs_before_every_sample():
    looks = iter([5e-4, 6e-4, *[4e-4] * 100])
    sampler = ResourceSampler(NOBODY, ManualClock(), reference_loop=lambda: next(looks))
    sampler.start()
    sampler.stop()
    first, second = sampler.samples[:2]
    assert (first.reference_loop_mean_s, first.reference_loop_least_s) == (5e-4, 5e-4)
    assert second.reference_loop_least_s <= second.reference_loop_mean_s <= 6e-4
    assert 100 - len(list(looks)) <= REFERENCE_LOOPS


def test_the_work_that_is_always_the_same_takes_some_time():
    assert 0 < min(reference_loop_s() for _ in range(5)) < 0.1


def test_the_sampler_reads_the_whole_machine_and_what_of_it_is_ours(tmp_path):
    sampler = ResourceSampler(NOBODY, ManualClock(), root=tmp_path)
    sampler.start()
    sampler.stop()
    found = sampler.samples[-1].machine
    assert found.cores > 0
    assert found.busy_s > 0
    assert found.own_s >= sampler.samples[-1].cpu_s["tool"] > 0
    assert (found.waited_s, found.io_full_s, found.periods) == (None, None, None), "this root shows nothing"


def test_a_child_that_is_not_spark_s_is_part_of_the_experiment():
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        roles = {process.pid: role for role, process in ResourceSampler(NOBODY, ManualClock())._processes()}
        spark = {process.pid: role for role, process in ResourceSampler(child.pid, ManualClock())._processes()}
        child.stdin.close()
    assert roles[child.pid] == "other"
    assert spark[child.pid] == "python_workers"


def test_watching_the_machine_tells_what_others_use_now(tmp_path):
    found = watch_machine(ManualClock(), 1.0, root=tmp_path)
    assert found.foreign_cores >= 0.0
    assert "CPU quota" in found.not_visible
