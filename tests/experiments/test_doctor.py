import socket
from dataclasses import replace

import pytest

from streamgauge.experiments import doctor
from streamgauge.experiments.doctor import Check, Examination, examine
from streamgauge.measure.contention import Contention
from streamgauge.verdict import Verdict

QUIET = Contention(
    cores=4, foreign_cores=0.05, cpu_some_share=0.01, io_some_share=0.0, memory_some_share=0.0, throttled_share=0.0,
    frequency_hz=2e9,
)  # fmt: skip


@pytest.fixture
def ready(tmp_path, monkeypatch):
    """A machine with a Java that is never started."""
    home = tmp_path / "jdk"
    (home / "bin").mkdir(parents=True)
    (home / "bin" / "java").write_text("")
    (home / "release").write_text('JAVA_VERSION="17.0.9"\n')
    monkeypatch.setenv("JAVA_HOME", str(home))
    monkeypatch.setattr(doctor, "MINIMUM_MEMORY_BYTES", 1)
    monkeypatch.setattr(doctor, "MINIMUM_DISK_BYTES", 1)
    monkeypatch.setattr(doctor, "_watch", lambda: QUIET)
    return tmp_path


def found(examination, name):
    return next(check for check in examination.checks if check.name == name)


def test_a_machine_with_everything_is_ready(ready):
    result = examine(runs=ready / "runs")
    assert result.verdict is Verdict.PASS
    assert all(check.remedy == "" for check in result.checks)
    assert found(result, "Java").detail == f"17 in {ready / 'jdk'}"


def test_looking_leaves_nothing_behind(ready):
    examine(runs=ready / "runs" / "deep" / "below")
    assert not (ready / "runs").exists()


def test_without_java_the_machine_is_not_ready_and_the_remedy_says_why(ready, monkeypatch):
    monkeypatch.setenv("JAVA_HOME", "")
    monkeypatch.setenv("PATH", str(ready))
    monkeypatch.setenv("STREAMGAUGE_JAVA_PLACES", str(ready / "none"))
    result = examine(runs=ready)
    assert result.verdict is Verdict.FAIL
    assert "apt-get install" in found(result, "Java").remedy


def test_a_missing_package_is_named_with_the_command_that_installs_it(ready, monkeypatch):
    monkeypatch.setattr(doctor, "PACKAGES", ("numpy", "no-such-package"))
    check = found(examine(runs=ready), "packages")
    assert check.verdict is Verdict.FAIL
    assert check.detail.endswith(", no-such-package is missing")
    assert check.remedy == "pip install no-such-package"


@pytest.mark.parametrize("installed", [None, "3.5.9"])
def test_a_missing_or_old_spark_is_named_with_its_extra(ready, monkeypatch, installed):
    monkeypatch.setattr(doctor, "installed_version", lambda _: installed)
    monkeypatch.setattr(doctor, "PACKAGES", ("pyspark",))
    check = found(examine(runs=ready), "packages")
    assert check.verdict is Verdict.FAIL
    assert check.remedy == 'pip install "streamgauge[spark]"'


@pytest.mark.parametrize(
    ("limit", "name"),
    [("MINIMUM_MEMORY_BYTES", "memory"), ("MINIMUM_DISK_BYTES", "runs"), ("MINIMUM_PYTHON", "Python")],
)
def test_too_little_of_anything_fails_its_check(ready, monkeypatch, limit, name):
    monkeypatch.setattr(doctor, limit, (99, 0) if limit == "MINIMUM_PYTHON" else 2**80)
    check = found(examine(runs=ready), name)
    assert check.verdict is Verdict.FAIL
    assert check.remedy


def test_a_place_that_cannot_be_written_fails_with_the_option_that_helps(ready):
    (ready / "file").write_text("")
    check = found(examine(runs=ready / "file"), "runs")
    assert check.verdict is Verdict.FAIL
    assert "--runs" in check.remedy


def test_a_silent_loopback_is_found(ready, monkeypatch):
    def refuse(*_args, **_options):
        raise OSError("refused")

    monkeypatch.setattr(socket, "create_server", refuse)
    check = found(examine(runs=ready), "loopback")
    assert check.verdict is Verdict.FAIL
    assert "127.0.0.1" in check.remedy


def test_spark_is_not_started_on_a_machine_that_is_not_ready(ready, monkeypatch):
    monkeypatch.setattr(doctor, "MINIMUM_MEMORY_BYTES", 2**80)
    monkeypatch.setattr(doctor, "_spark", lambda: pytest.fail("Spark must not start"))
    assert examine(deep=True, runs=ready).verdict is Verdict.FAIL


def test_the_deep_check_is_part_of_the_verdict(ready, monkeypatch):
    monkeypatch.setattr(doctor, "_spark", lambda: Check("Spark", Verdict.FAIL, "it failed", "fix it"))
    assert examine(deep=True, runs=ready).verdict is Verdict.FAIL
    assert examine(deep=False, runs=ready).verdict is Verdict.PASS


def test_a_quiet_machine_passes_with_what_was_seen(ready):
    check = found(examine(runs=ready), "machine")
    assert check.verdict is Verdict.PASS
    assert check.detail == (
        "other processes use 0.05 of 4 cores; work waits for cores 1%, for disks 0%, for memory 0% of the time"
    )


def test_a_busy_machine_is_not_ready_but_spark_can_be_tried_on_it(ready, monkeypatch):
    monkeypatch.setattr(doctor, "_watch", lambda: replace(QUIET, foreign_cores=3.9, quota_cores=1.5))
    monkeypatch.setattr(doctor, "_spark", lambda: Check("Spark", Verdict.PASS, "it runs"))
    result = examine(deep=True, runs=ready)
    check = found(result, "machine")
    assert (result.verdict, check.verdict, found(result, "Spark").verdict) == (Verdict.FAIL, Verdict.FAIL, Verdict.PASS)
    assert "other processes use 3.9 of 4 cores" in check.detail
    assert "a CPU quota allows 1.5 cores" in check.detail
    assert "top" in check.remedy


def test_what_the_machine_does_not_show_is_said(ready, monkeypatch):
    monkeypatch.setattr(doctor, "_watch", lambda: Contention(cores=4, foreign_cores=0.1))
    check = found(examine(runs=ready), "machine")
    assert check.verdict is Verdict.PASS
    assert check.detail == (
        "other processes use 0.1 of 4 cores; not visible here: pressure stall information, CPU quota, clock frequency"
    )


def test_no_checks_at_all_are_no_proof():
    assert Examination(()).verdict is Verdict.UNKNOWN
