"""A driver process that dies or is stopped, seen from outside; another program stands in for it."""

import psutil
import pytest

from streamgauge.clock import ManualClock, SystemClock
from streamgauge.engine.spark.watchdog import HANG_DEADLINE_S
from streamgauge.errors import RunFailedError
from streamgauge.faults import driver as driver_module
from streamgauge.faults.driver import Driver, DriverOrder, DriverPlace

STOPPED = "import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)"
# Leaves a process like a stopped Java: in a session of its own, with the driver's folder in its command line.
ORPHANED = """
import os, signal, subprocess, sys
java = subprocess.Popen(["sh", "-c", "sleep 600; :", sys.argv[1] + "/attempt-1/x"], start_new_session=True)
os.kill(java.pid, signal.SIGSTOP)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def started(tmp_path, monkeypatch):
    """Start a program instead of a driver; whatever is left of it at the end is killed."""
    drivers = []

    def start(program, clock):
        (tmp_path / "stand_in.py").write_text(program)
        monkeypatch.setenv("PYTHONPATH", str(tmp_path))
        monkeypatch.setattr(driver_module, "MODULE", "stand_in")
        order = DriverOrder(1, "ysb", {}, {}, log=str(tmp_path / "spark.log"))
        drivers.append(Driver(order, DriverPlace(tmp_path / "work"), clock))
        return drivers[-1]

    yield start
    for driver in drivers:
        driver.clock = SystemClock()
        driver.kill()


def test_a_driver_that_is_stopped_for_too_long_is_a_failed_run(started):
    clock = ManualClock()
    driver = started(STOPPED, clock)
    process = psutil.Process(driver.process.pid)
    for _ in range(2000):
        if process.status() == psutil.STATUS_STOPPED:
            break
        SystemClock().sleep(0.01)
    driver.watchdog.look()
    with pytest.raises(RunFailedError, match="the driver process did not answer for 30 s") as caught:
        while clock.monotonic_s() < 10 * HANG_DEADLINE_S:
            driver.check()
            clock.sleep(0.1)
    assert HANG_DEADLINE_S <= clock.monotonic_s() < HANG_DEADLINE_S + 1.0
    assert caught.value.where == driver.order.log
    assert driver.kill()[0] == -9


def test_a_pause_in_which_nobody_looks_is_not_a_hang(started):
    clock = ManualClock()
    driver = started("import sys\nsys.stdin.read()", clock)
    clock.sleep(10 * HANG_DEADLINE_S)
    driver.check()


def test_what_a_dead_driver_has_left_behind_is_killed_even_if_it_is_stopped(started):
    driver = started(ORPHANED, SystemClock())
    driver.process.wait(20)
    left = driver.processes()
    assert "sh" in [process.name() for process in left]
    assert driver.kill()[0] == -9
    _, alive = psutil.wait_procs(left, timeout=20)
    assert [p for p in alive if p.status() != psutil.STATUS_ZOMBIE] == []
    with pytest.raises(RunFailedError, match="ended by itself with code -9"):
        driver.check()
