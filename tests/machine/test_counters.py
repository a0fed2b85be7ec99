"""What the system counts, read from made-up files of the kernel."""

import pytest

from streamgauge.machine.counters import Quota, read_frequency_hz, read_machine, read_quota, read_stalls_s, read_waits_s
from streamgauge.measure.records import MachineReading

PRESSURE = """some avg10=26.40 avg60=10.22 avg300=3.88 total=18077843
full avg10=0.00 avg60=0.00 avg300=0.00 total=2000000
"""


def write(root, **files):
    """Write files below a root; `__` stands for a slash."""
    for name, text in files.items():
        put(root, name.replace("__", "/"), text)


def put(root, name, text):
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_stalls_are_read_in_seconds(tmp_path):
    write(tmp_path, proc__pressure__cpu=PRESSURE)
    assert read_stalls_s(tmp_path, "cpu") == {"some": 18.077843, "full": 2.0}


@pytest.mark.parametrize("text", [None, "", "some avg10=1.0\n", "some total=many\n"])
def test_stalls_that_the_system_does_not_show_are_missing_and_not_0(tmp_path, text):
    if text is not None:
        write(tmp_path, proc__pressure__cpu=text)
    assert read_stalls_s(tmp_path, "cpu") == {}


def test_the_tightest_quota_of_version_2_counts_whichever_group_has_it(tmp_path):
    write(tmp_path, proc__self__cgroup="0::/a/b\n")
    base = "sys/fs/cgroup"
    put(tmp_path, f"{base}/a/b/cpu.stat", "usage_usec 5\nnr_periods 100\nnr_throttled 1\nthrottled_usec 7\n")
    put(tmp_path, f"{base}/a/b/cpu.max", "max 100000\n")
    put(tmp_path, f"{base}/a/cpu.stat", "usage_usec 5\nnr_periods 200\nnr_throttled 20\nthrottled_usec 7\n")
    put(tmp_path, f"{base}/a/cpu.max", "150000 100000\n")
    put(tmp_path, f"{base}/cpu.stat", "usage_usec 5\n")
    assert read_quota(tmp_path) == Quota(1.5, 200, 20)


@pytest.mark.parametrize("folder", ["cpu", "cpu,cpuacct"])
def test_the_quota_of_version_1_is_found_inside_a_container_too(tmp_path, folder):
    write(tmp_path, proc__self__cgroup="4:memory:/x\n1:cpu,cpuacct:/docker/abc\n0::/\n")
    base = f"sys/fs/cgroup/{folder}"
    put(tmp_path, f"{base}/cpu.stat", "nr_periods 10\nnr_throttled 4\nthrottled_time 7\n")
    put(tmp_path, f"{base}/cpu.cfs_quota_us", "50000\n")
    put(tmp_path, f"{base}/cpu.cfs_period_us", "100000\n")
    assert read_quota(tmp_path) == Quota(0.5, 10, 4)
    put(tmp_path, f"{base}/cpu.cfs_quota_us", "-1\n")
    assert read_quota(tmp_path) == Quota(None, 10, 4)


def test_without_control_groups_the_quota_is_not_known(tmp_path):
    assert read_quota(tmp_path) is None
    write(tmp_path, proc__self__cgroup="0::/a\n")
    assert read_quota(tmp_path) is None


def test_a_group_whose_controller_limits_nothing_has_no_quota(tmp_path):
    write(tmp_path, proc__self__cgroup="0::/\n")
    put(tmp_path, "sys/fs/cgroup/cpu.stat", "usage_usec 5\n")
    assert read_quota(tmp_path) == Quota(None, 0, 0)


def test_the_frequency_is_the_mean_of_the_processors(tmp_path):
    assert read_frequency_hz(tmp_path) is None
    for number, khz in enumerate((2_000_000, 3_000_000)):
        put(tmp_path, f"sys/devices/system/cpu/cpu{number}/cpufreq/scaling_cur_freq", f"{khz}\n")
    assert read_frequency_hz(tmp_path) == 2.5e9


def test_every_thread_of_a_process_tells_how_long_it_ran_and_waited(tmp_path):
    put(tmp_path, "proc/7/task/7/schedstat", "2000000000 500000000 9\n")
    put(tmp_path, "proc/7/task/8/schedstat", "1000000000 1500000000 9\n")
    assert read_waits_s(tmp_path, 7) == {7: (2.0, 0.5), 8: (1.0, 1.5)}
    assert read_waits_s(tmp_path, 9) == {}


def test_a_system_that_shows_nothing_gives_nothing_but_cpu_times(tmp_path):
    found = read_machine(tmp_path, cores=4, busy_s=10.0, own_s=3.0)
    assert found == MachineReading(cores=4, busy_s=10.0, own_s=3.0)
