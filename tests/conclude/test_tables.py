from dataclasses import replace

import pytest

from made_runs.samples import evidence
from streamgauge.conclude.tables import batches_table


def test_there_is_a_row_per_batch_with_what_was_computed_for_it():
    run = evidence()
    table = batches_table(run)
    assert table.num_rows == len(run.batches)
    row = table.to_pylist()[10]
    assert (row["batch_id"], row["events"], row["backlog_events"]) == (10, 500, 200)
    assert row["duration_s"] == pytest.approx(0.25)
    assert row["end_to_end_latency_mean_s"] == pytest.approx(0.4495)
    assert row["end_to_end_latency_max_s"] == 0.699
    assert row["execution_s"] == 0.14


def test_a_batch_without_events_has_no_latency_rather_than_zero():
    row = batches_table(evidence()).to_pylist()[0]
    assert row["events"] == 0
    assert row["end_to_end_latency_mean_s"] is None
    assert row["end_to_end_latency_max_s"] is None


def test_no_batches_give_an_empty_table():
    assert batches_table(replace(evidence(), batches=[])).num_rows == 0
