"""A real run is read by the model; how well it predicts is measured by `model evaluate`, not here."""

from pathlib import Path

import pytest

from streamgauge.engine.spark.engine import OpenSpark
from streamgauge.engine.spark.session import Session
from streamgauge.predicting.predict import calibrate, predict
from streamgauge.running.lifecycle import run


def test_a_real_run_is_predicted_from_itself(session: Session, tmp_path: Path) -> None:
    # All events at once and a limit: the micro-batches are as many on every machine.
    settings = {"load": "offline", "rate": "1k", "duration": "14s", "warmup": "2s", "max_rows_per_batch": 1000}
    # A first run, so that Java has compiled the query whatever test ran before.
    run("ysb", verify=False, runs=tmp_path, session=OpenSpark(session), **settings)
    measured = run("ysb", verify=False, runs=tmp_path, session=OpenSpark(session), **settings)
    # Far more than it can process, so that every micro-batch is as full as those that were measured.
    found = predict(measured, rate="1M", runs=tmp_path)
    assert found.calibrated_from == (measured.run_id,)
    assert found.bottleneck == "admission limit"
    assert found.batch_events.value == 1000
    assert found.batch_duration_s.value == pytest.approx(measured.summary["batch_duration_s"]["mean"], rel=0.5)
    stages = calibrate(measured, runs=tmp_path).model.query.stages
    # The first one may be that of the static table.
    assert {"source", "shuffle"} <= {stage.tasks for stage in stages}
