"""A run on a real cluster: executors, their clocks and resources; and a cluster that gives none."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from streamgauge import services
from streamgauge.engine.session import SessionSettings, open_session
from streamgauge.errors import EnvironmentNotReadyError
from streamgauge.report.html.page import render_report
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
