import os
import re
import subprocess
import sys
from types import SimpleNamespace

import psutil
import pytest

from streamgauge.clock import ManualClock, SystemClock
from streamgauge.engine.spark import session
from streamgauge.engine.spark.session import READY_DEADLINE_S, SessionSettings, open_session, spark_conf
from streamgauge.engine.spark.watchdog import Watchdog
from streamgauge.errors import EnvironmentNotReadyError, RunFailedError


def java_options(settings, scratch):
    return spark_conf(settings, scratch)["spark.driver.extraJavaOptions"].split()


@pytest.mark.parametrize(("memory_gib", "heap", "region"), [(24, "4g", "16m"), (12, "3g", "8m"), (4, "1g", "4m")])
def test_the_regions_of_a_measured_heap_are_a_256th_of_it_or_the_next_smaller_power_of_two(
    monkeypatch, tmp_path, memory_gib, heap, region
):
    memory = SimpleNamespace(total=memory_gib * 2**30, available=memory_gib * 2**30)
    monkeypatch.setattr(psutil, "virtual_memory", lambda: memory)
    options = java_options(SessionSettings("local[2]", {}), tmp_path)
    assert {f"-Xms{heap}", f"-XX:G1HeapRegionSize={region}"} <= set(options)


def test_a_session_that_measures_nothing_keeps_the_usual_heap(tmp_path):
    options = java_options(SessionSettings("local[2]", {}, event_log=False), tmp_path)
    assert not any(option.startswith(("-Xms", "-XX:G1HeapRegionSize")) for option in options)


@pytest.mark.parametrize(
    ("master", "is_on_loopback"),
    [
        ("local[2]", True),
        ("local-cluster[1,1,1024]", True),
        ("spark://127.0.0.1:7077", True),
        ("spark://localhost:7077", True),
        ("spark://[::1]:7077", True),
        ("spark://127.0.0.1:7077,127.0.0.1:7078", True),
        ("spark://127.0.0.1:7077,host:7077", False),
        ("spark://127.0.0.1.example.org:7077", False),
        ("spark://host:7077", False),
        ("yarn", False),
        ("k8s://https://host:443", False),
    ],
)
def test_a_driver_listens_beyond_loopback_only_for_a_master_elsewhere(tmp_path, master, is_on_loopback):
    conf = spark_conf(SessionSettings(master, {}), tmp_path)
    assert (conf.get("spark.driver.host") == "127.0.0.1") is is_on_loopback
    assert (conf.get("spark.driver.bindAddress") == "127.0.0.1") is is_on_loopback


def test_references_to_secrets_become_secrets_only_in_the_settings_of_the_session(tmp_path, monkeypatch):
    monkeypatch.setenv("MY_SECRET", "hunter2")
    settings = SessionSettings("local[2]", {"spark.my.token": "env:MY_SECRET"})
    assert spark_conf(settings, tmp_path)["spark.my.token"] == "hunter2"
    assert "hunter2" not in repr(settings)


def test_what_the_user_masks_is_masked_besides_what_we_mask(tmp_path):
    conf = spark_conf(SessionSettings("local[2]", {"spark.redaction.regex": "(?i)codename"}), tmp_path)
    masked = re.compile(conf["spark.redaction.regex"].replace("|(?i)", "|"))
    assert masked.search("spark.my.CODENAME")
    assert masked.search("spark.hadoop.fs.azure.account.key.mine.blob.core.windows.net")


@pytest.fixture
def submit(tmp_path, monkeypatch):
    """Let another program stand in for Spark's."""

    def replace(lines):
        home = tmp_path / "spark-home"
        (home / "bin").mkdir(parents=True)
        program = home / "bin" / "spark-submit"
        program.write_text(f"#!/bin/sh\n{lines}\n")
        program.chmod(0o755)
        monkeypatch.setenv("SPARK_HOME", str(home))
        monkeypatch.setattr(session, "find_java", lambda _: (tmp_path, "21"))

    return replace


def refused(folder, clock):
    with (
        pytest.raises(EnvironmentNotReadyError) as caught,
        open_session(SessionSettings("local[1]", {}), scratch=folder, log=folder / "spark.log", clock=clock),
    ):
        pytest.fail("there is no Java")
    assert not list(folder.glob("gateway-*"))
    return str(caught.value)


def test_a_java_that_never_gets_ready_is_killed_at_the_deadline(submit, tmp_path):
    submit("sleep 600 & exec sleep 600")
    clock = ManualClock()
    assert "was not ready within 180 s, and was killed" in refused(tmp_path, clock)
    assert READY_DEADLINE_S < clock.monotonic_s() < READY_DEADLINE_S + 1.0


@pytest.mark.parametrize("code", [0, 3])
def test_a_java_that_ends_before_it_is_ready_is_told_with_its_log(submit, tmp_path, code):
    submit(f"echo 'Error: lots is too much'; exit {code}")
    said = refused(tmp_path, SystemClock())
    assert "ended before it was ready" in said
    assert "lots is too much" in said


@pytest.mark.parametrize("is_stopped", [False, True])
def test_the_end_of_java_is_the_end_of_its_session(is_stopped):
    script = "import os, subprocess, sys; print(subprocess.Popen(['sleep', '600'], process_group=0).pid, flush=True)"
    script += "; os.kill(os.getpid(), 19)" if is_stopped else ""
    process = subprocess.Popen(
        [sys.executable, "-c", f"{script}; sys.stdin.read()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    worker = psutil.Process(int(process.stdout.readline()))
    process.stdout.close()
    session._end(process, 0.1 if is_stopped else 20.0)
    assert process.returncode == (-9 if is_stopped else 0)
    _, alive = psutil.wait_procs([worker], timeout=20)
    assert [p for p in alive if p.status() != psutil.STATUS_ZOMBIE] == []
    assert os.getsid(0) != process.pid


def test_nobody_waits_for_the_executors_of_a_java_that_is_dead(tmp_path, monkeypatch):
    clock = ManualClock()
    watchdog = Watchdog(lambda: -9, lambda: False, lambda: None, clock, tmp_path / "spark.log")
    monkeypatch.setattr(session, "_executors", lambda _: watchdog.look() or 0)
    cluster = SimpleNamespace(settings=SessionSettings("spark://host:7077", {}), watchdog=watchdog)
    with pytest.raises(RunFailedError, match="killed by signal 9"):
        session._equip_executors(cluster, clock)
    assert clock.monotonic_s() < 1.0
