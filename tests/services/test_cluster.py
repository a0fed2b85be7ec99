"""A run on a real cluster: executors, their clocks and resources; and a cluster that gives none."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from report.rendered import render_report
from streamgauge import services
from streamgauge.engine.spark.session import SessionSettings, open_session
from streamgauge.errors import EnvironmentNotReadyError
from streamgauge.services import Service
from streamgauge.store import open_run

pytestmark = pytest.mark.service
RUN = ("run", "hibench-identity", "--rate", "2k", "--duration", "4s", "--warmup", "2s", "--no-verify", "--quiet")
FAULT = ("fault", "hibench-identity", "--rate", "2k", "--duration", "14s", "--drain", "90s", "--at", "4s", "--quiet")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Service]:
    try:
        services.prepare("spark")
    except EnvironmentNotReadyError as error:
        pytest.skip(str(error))
    with services.running("spark", workers=2) as service:
        yield service


def tool(cluster: Service, runs: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "streamgauge", *words, "--master", str(cluster.address), "--runs", str(runs)]
    return subprocess.run(command, capture_output=True, text=True, timeout=250)


def test_a_run_on_a_cluster_tells_executors_hosts_resources_and_clocks(tmp_path, cluster):
    done = tool(cluster, tmp_path, *RUN, "--json")
    assert done.returncode in (0, 7), done.stdout + done.stderr
    summary = json.loads(done.stdout)
    assert summary["cores"] == 2
    assert [use["executor"] for use in summary["executors"]] == ["0", "1"]
    assert all(use["cpu_s"] > 0 and use["memory_bytes"] > 50e6 and use["tasks"] > 0 for use in summary["executors"])
    # One machine has one clock.
    assert all(abs(clock["offset_s"]) <= clock["uncertainty_s"] for clock in summary["clocks"])
    assert summary["core_use"]["used"] > 0
    assert (summary["events"], summary["events_processed"]) == (12_000, 12_000)
    tasks = open_run(tmp_path, summary["run_id"]).table("tasks")
    assert set(tasks["executor"].to_pylist()) == {"0", "1"}
    assert set(tasks["host"].to_pylist()) == {"127.0.0.1"}


def test_a_single_core_of_a_cluster_counts_as_one(tmp_path, cluster):
    one = {"spark.executor.instances": "1", "spark.executor.cores": "1", "spark.cores.max": "1"}
    with open_session(SessionSettings(str(cluster.address), one), scratch=tmp_path, log=tmp_path / "log") as session:
        assert session.cores == 1


def _listening(process: psutil.Process) -> Iterator[str]:
    for each in (process, *process.children(recursive=True)):
        with suppress(psutil.Error):
            yield from (c.laddr.ip for c in each.net_connections(kind="inet") if c.status == psutil.CONN_LISTEN)


def test_everything_listens_on_loopback_and_no_secret_is_written(tmp_path, cluster, monkeypatch):
    monkeypatch.setenv("MY_SECRET", "hunter2")
    (settings,) = cluster.folder.rglob("spark-defaults.conf")
    secret = settings.read_text().split("spark.authenticate.secret=")[1].strip()
    assert (settings.stat().st_mode & 0o777, cluster.folder.stat().st_mode & 0o777) == (0o600, 0o700)
    conf = {
        "spark.hadoop.fs.azure.account.key.mine.blob.core.windows.net": "env:MY_SECRET",
        "spark.driver.extraJavaOptions": "-Dmy.password=hunter2",
        "spark.executor.instances": "1",
    }
    with open_session(SessionSettings(str(cluster.address), conf), scratch=tmp_path, log=tmp_path / "log") as session:
        assert session.spark.range(10).count() == 10
        ours = [psutil.Process(session.process.pid), *(psutil.Process(p.pid) for p in cluster.processes)]
        addresses = {ip.removeprefix("::ffff:") for process in ours for ip in _listening(process)}
        visible = " ".join(word for process in psutil.process_iter() for word in _command(process))
    assert addresses == {"127.0.0.1"}
    assert secret not in visible
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert any("event-log" in str(path) for path in files)
    assert [path for path in files if any(s.encode() in path.read_bytes() for s in ("hunter2", secret))] == []


def _command(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []


def test_a_cluster_that_gives_no_executor_is_told_after_the_deadline(tmp_path, cluster):
    more = ("--conf", "spark.executor.memory=64g", "--conf", "spark.scheduler.maxRegisteredResourcesWaitingTime=2s")
    done = tool(cluster, tmp_path, *RUN, *more)
    assert done.returncode == 4, done.stdout + done.stderr
    assert "offered no executor within 2 s" in done.stderr
    assert "spark.log" in done.stderr
    assert "free cores and memory" in done.stderr
    assert "Traceback" not in done.stderr


def test_f2_a_worker_that_is_killed_is_on_the_time_line_of_a_run_that_passes_and_comes_back(tmp_path, cluster):
    done = tool(cluster, tmp_path, *FAULT, "--fault", "worker", "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(done.stdout)
    (fault,) = found["faults"]
    assert (fault["name"], fault["is_proven"]) == ("worker", True)
    assert (found["verdict"], found["rows_lost"], found["rows_doubled"], found["rows_foreign"]) == ("pass", 0, 0, 0)
    page = render_report([open_run(tmp_path, found["run_id"])])
    assert "<h3>Faults</h3>" in page
    assert page.count("<span>worker</span>") >= 3
    (now,) = [service for service in services.status() if service.folder == cluster.folder]
    assert now.status == "up"
    assert {p.pid for p in now.processes} - {p.pid for p in cluster.processes}
