"""Faults other than a killed driver: each fires for sure, and the sink's promise is kept."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

PLAN = "3s sink-stall; 7s pause; 11s disk-full"
OPTIONS = ("--rate", "2k", "--duration", "14s", "--drain", "90s", "--cores", "2", "--pause", "1s")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount the small disk that is filled")
def test_f3_a_stall_a_pause_and_a_full_disk_one_after_the_other_lose_and_double_nothing(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "streamgauge", "fault", "hibench-identity", *OPTIONS, "--faults", PLAN]
    done = subprocess.run(
        [*command, "--json", "-q", "--runs", str(tmp_path)], capture_output=True, text=True, timeout=280
    )
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(done.stdout)
    assert found["planned"] == PLAN.split("; ")
    stall, pause, full = found["faults"]
    assert [fault["name"] for fault in (stall, pause, full)] == ["sink-stall", "pause", "disk-full"]
    assert all(fault["is_proven"] for fault in found["faults"]), found["faults"]
    for fault in (stall, pause):
        assert fault["ended_at_s"] - fault["at_s"] >= 1.0
        assert fault["restarted_at_s"] is None
    assert "No space left" in full["detail"]
    assert full["restarted_at_s"] > full["at_s"]
    assert full["recovery_s"] > 0
    assert (found["verdict"], found["rows_lost"], found["rows_doubled"], found["rows_foreign"]) == ("pass", 0, 0, 0)
    assert found["rows_expected"] == 28_000
    assert str(tmp_path) not in Path("/proc/mounts").read_text()
