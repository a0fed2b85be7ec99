"""A prototype is fitted to a run by probes on Spark."""

from pathlib import Path

import pytest

from streamgauge.engine.spark.engine import OpenSpark
from streamgauge.engine.spark.session import Session
from streamgauge.prototype.calibration import CostLine, CostPoint, CycleCalibration, this_machine
from streamgauge.prototyping import fit as fitting
from streamgauge.running.lifecycle import execute, new_run, prepare
from streamgauge.running.monitor import NoMonitor
from streamgauge.verdict import Verdict


@pytest.fixture(autouse=True)
def calibrated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STREAMGAUGE_CACHE", str(tmp_path / "cache"))
    line = CostLine(1.0, 0.99, 1.01, 0.0, (CostPoint(500, 1000, 500.0, 0.0),))
    CycleCalibration("2026-11-16T08:00:00+00:00", this_machine(), {"native": line, "arrow": line}, Verdict.PASS).write()


def test_a_prototype_gets_the_load_and_the_state_of_a_query(session: Session, tmp_path: Path) -> None:
    # As many micro-batches on a slow machine as on a fast one.
    settings = {"load": "offline", "rate": "20k", "max_rows_per_batch": "5k", "duration": "1s", "warmup": "1s"}
    settings |= {"verify": False, "drain": "180s"}
    workload, parameters, parsed = prepare("ysb", {**settings, "parameters": {"parse_json": "true"}})
    root = tmp_path / "runs"
    run = execute(new_run(workload, parameters, parsed, root, NoMonitor(), session=OpenSpark(session)))
    found = fitting.fit(run.run_id, runs=root, probes=2, session=OpenSpark(session))
    (only,) = found.application.tasks
    assert only.window is not None
    assert found.application.sources[0].data.values == 100
    # How large the load is depends on the machine; that it was probed does not.
    assert only.processing_us is not None
    assert found.probes == 2
    assert [error.metric for error in found.errors] == ["offline processed_rate_per_s"]
    assert found.text.startswith("# A prototype fitted")
