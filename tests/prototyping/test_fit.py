"""Fitting a prototype to stored runs: what is refused, what is found, and how close probes bring it."""

import json
from dataclasses import replace

import numpy as np
import pyarrow.parquet as pq
import pytest

from made_runs.samples import ORIGIN_US, PHASES_S, at_us, batch, resources
from made_runs.shelf import Shelf
from made_runs.stored_runs import progress
from streamgauge.arrivals import Constant
from streamgauge.conclude.evidence import Evidence
from streamgauge.conclude.tables import batches_table
from streamgauge.errors import EnvironmentNotReadyError, InvalidExperimentError, UsageError
from streamgauge.measure.records import TaskRecord
from streamgauge.prototype import read_application
from streamgauge.prototype.calibration import CostLine, CostPoint, CycleCalibration, this_machine
from streamgauge.prototype.graph.application import TaskWindow
from streamgauge.prototyping import fit as fitting
from streamgauge.prototyping.fit import fit, probe_settings
from streamgauge.prototyping.fit_errors import Error
from streamgauge.prototyping.measurement import time_us_per_row
from streamgauge.running.lifecycle import Run
from streamgauge.running.monitor import NoMonitor
from streamgauge.settings.run_settings import RunSettings
from streamgauge.store import open_run
from streamgauge.verdict import Verdict

RATE_PER_S = 100_000.0
TASK_S = 0.004
SECRET = "secret_module.py:secret_function"
STATE = {"operatorName": "stateStoreSave", "numRowsTotal": 200, "memoryUsedBytes": 1, "commitTimeMs": 1,
         "numRowsDroppedByWatermark": 0, "numRowsUpdated": 100}  # fmt: skip


@pytest.fixture(autouse=True)
def calibrated(tmp_path, monkeypatch):
    monkeypatch.setenv("STREAMGAUGE_CACHE", str(tmp_path / "cache"))
    line = CostLine(1.0, 0.99, 1.01, 0.0, (CostPoint(500, 1000, 500.0, 0.0),))
    CycleCalibration("2026-11-16T08:00:00+00:00", this_machine(), {"native": line, "arrow": line}, Verdict.PASS).write()


def task(b, number, stage, partition, cpu_s, **changes):
    usual = {
        "batch_id": b.batch_id, "stage_id": 10 * b.batch_id + stage, "stage_attempt": 0, "stage_tasks": 2,
        "task_id": number, "partition": partition, "attempt": 0, "executor": "driver", "host": "localhost",
        "launched_us": b.started_us + 60_000, "finished_us": b.started_us + 60_000 + round(cpu_s * 1e6),
        "is_ok": True, "run_s": cpu_s, "cpu_s": cpu_s, "deserialize_s": 0.0, "gc_s": 0.0, "input_rows": 3,
        "shuffle_read_rows": 0, "shuffle_read_bytes": 0, "shuffle_wait_s": 0.0, "shuffle_write_rows": 0,
        "shuffle_write_bytes": 0, "spilled_bytes": 0, "peak_memory_bytes": 0,
    }  # fmt: skip
    return TaskRecord(**{**usual, **changes})


def tasks_of(batches, us_per_event, *, keys=0):
    """Two tasks that read the events, and with keys two behind a shuffle of them."""
    found = []
    for b in batches:
        for partition in (0, 1) if b.events else ():
            cpu_s = TASK_S + us_per_event * 1e-6 * b.events / 2
            # Chunks grow with the events.
            out = {"shuffle_write_rows": keys, "shuffle_write_bytes": 20 * keys}
            found.append(task(b, len(found), 0, partition, cpu_s, input_rows=3 + b.events // 1000, **out))
        for partition in (0, 1) if b.events and keys else ():
            read = {"shuffle_read_rows": keys, "shuffle_read_bytes": 20 * keys, "input_rows": 0}
            found.append(task(b, len(found), 1, partition, 0.02, **read))
    return found


def batch_s(fixed_s, us_per_event):
    """Return how long micro-batches are that take what came meanwhile."""
    return fixed_s / (1 - us_per_event * 1e-6 / 2 * RATE_PER_S)


def behaviour(fixed_s, us_per_event, *, keys=0, seed=1, is_offline=False):
    """A run of a query whose every micro-batch costs `fixed_s` besides what two tasks work on its events."""
    rng = np.random.default_rng(seed)
    settings = RunSettings(RATE_PER_S, 20.0, warmup_s=5.0, master="local[2]", verify=False)
    schedule = Constant(RATE_PER_S).schedule(settings.load_s)
    batches, at_s = [batch(0, -1.0, 0, 0)], 0.3
    if is_offline:
        settings = replace(settings, load="offline", max_rows_per_batch=100_000)
        at_s = settings.load_s
    while batches[-1].last < schedule.total:
        first = batches[-1].last
        created = schedule.total if is_offline else int(schedule.created(round(at_s * 1e6)))
        last = min(created, first + 100_000) if is_offline else created
        took_s = round(fixed_s * rng.normal(1, 0.02) + us_per_event * 1e-6 / 2 * (last - first), 3)
        begun, ended = at_us(at_s), at_us(at_s + took_s)
        made = replace(batch(len(batches), at_s, first, last), started_us=begun, emitted_us=ended - 20_000)
        phases = {**PHASES_S, "execution": took_s - 0.11}
        batches.append(replace(made, finished_us=ended, phases_s=phases, state_rows=0, state_bytes=0))
        at_s = round(at_s + took_s + 0.002, 3)
    whole = Evidence(
        settings=settings,
        schedule=schedule,
        origin_us=ORIGIN_US,
        closed_us=at_us(settings.load_s),
        batches=batches,
        cores=2,
        output_mode="append",
    )
    return replace(whole, tasks=tasks_of(batches, us_per_event, keys=keys), resources=resources(60.0))


class Folder(Shelf):
    def keep(self, run, *, state=(), **changes):
        """Store a run with all tables."""
        run_id = self.store(run, **{"workload": SECRET, **changes})
        path = self.root / run_id
        pq.write_table(batches_table(run), path / "batches.parquet")
        if state:
            reports = [progress(b) | {"stateOperators": list(state)} for b in run.batches]
            (path / "events.jsonl").write_text("".join(f"{json.dumps(report)}\n" for report in reports))
        return run_id


@pytest.fixture
def shelf(tmp_path):
    return Folder(tmp_path / "runs")


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """Probes that behave as a prototype whose own cost is known; it keeps what it was given to run."""
    probes = Folder(tmp_path / "probes")
    given = []

    def set_(own_s=0.12, own_us=0.4, keys=0, slowdowns=()):
        def probe(self, found, one, *_):
            (only,) = self._readable(found.application).tasks
            given.append((only.processing_us, only.batch_ms, one.settings.load))
            made = behaviour(
                own_s + only.batch_ms / 1000,
                own_us + only.processing_us,
                keys=keys,
                seed=len(given),
                is_offline=one.settings.is_offline,
            )
            run_id = probes.keep(made, workload="prototype", state=(STATE,) if keys else ())
            stored = open_run(probes.root, run_id)
            slowdown = dict(enumerate(slowdowns, 1)).get(len(given), 1.05)
            return Run(run_id, stored.path, stored.document["summary"] | {"resources": {"slowdown": slowdown}})

        monkeypatch.setattr(fitting._Fitting, "_probe", probe)
        return given

    return set_


def fitted(shelf, reference, **options):
    # A session is handed in, so that none is started; probes are those of `machine`.
    return fit(reference, runs=shelf.root, monitor=NoMonitor(), session=object(), **{"probes": 2} | options)


def test_a_run_alone_gives_shape_and_load_without_spark(shelf):
    run_id = shelf.keep(behaviour(0.3, 1.5))
    found = fitted(shelf, run_id, probes=0)
    (only,) = found.application.tasks
    assert found.application.sources[0].flow.rate_per_s == RATE_PER_S
    assert only.processing_us == pytest.approx(1.5, rel=0.35)
    assert "no probe showed what the prototype costs by itself" in found.text
    assert found.errors == ()


def test_a_second_run_with_other_sizes_tells_the_cost_of_rows_from_that_of_tasks(shelf):
    reference = f"{shelf.keep(behaviour(0.3, 1.5))},{shelf.keep(behaviour(0.3, 1.5, is_offline=True))}"
    (only,) = fitted(shelf, reference, probes=0).application.tasks
    assert only.processing_us == pytest.approx(1.5, rel=0.02)


def test_the_offline_part_of_an_online_run_counts(shelf):
    run_id = shelf.keep(behaviour(0.3, 1.5))
    inner = Folder(shelf.root / run_id / "offline")
    inner.keep(behaviour(0.3, 1.5, is_offline=True))
    (only,) = fitted(shelf, run_id, probes=0).application.tasks
    assert only.processing_us == pytest.approx(1.5, rel=0.02)


def test_probes_bring_load_and_wait_to_what_the_query_has_more(shelf, machine):
    given = machine(own_s=0.12, own_us=0.4)
    reference = f"{shelf.keep(behaviour(0.3, 1.5))},{shelf.keep(behaviour(0.3, 1.5, is_offline=True))}"
    found = fitted(shelf, reference)
    whole_us = 1.5 + 1e6 * TASK_S / 50_000
    assert given[0] == (pytest.approx(0.9 * whole_us, rel=0.02), 0.0, "open")
    assert [load for _, _, load in given] == ["open", "offline", "open", "offline"]
    (only,) = found.application.tasks
    assert only.processing_us == pytest.approx(1.1, rel=0.03)
    assert only.batch_ms == pytest.approx(180, rel=0.05)
    assert {error.metric for error in found.errors} == {
        "processed_rate_per_s", "end_to_end_latency_s.mean", "offline processed_rate_per_s",
    }  # fmt: skip
    assert all(abs(error.change) < 0.03 for error in found.errors)
    assert (only.processing_us, only.batch_ms) == given[-1][:2], "the error is that of the loads in the file"


def test_rows_cost_what_they_do_after_the_warm_up_of_an_offline_load(shelf, machine):
    given = machine(own_s=0.12, own_us=0.4)
    offline = behaviour(0.3, 1.5, is_offline=True)
    early = [b for b in offline.batches if b.last <= offline.settings.warmup_s * RATE_PER_S]
    compiling = replace(offline, tasks=[*tasks_of(early, 6.0), *tasks_of(offline.batches[len(early) :], 1.5)])
    fitted(shelf, f"{shelf.keep(behaviour(0.3, 1.5))},{shelf.keep(compiling)}")
    assert given[0][0] == pytest.approx(0.9 * (1.5 + 1e6 * TASK_S / 50_000), rel=0.02)


def test_runs_with_the_same_settings_are_met_in_the_mean(shelf, machine):
    machine(own_s=0.12, own_us=0.4)
    paced = [shelf.keep(behaviour(fixed_s, 1.5, seed=k)) for k, fixed_s in enumerate((0.25, 0.3, 0.35))]
    offline = shelf.keep(behaviour(0.3, 1.5, is_offline=True))
    found = fitted(shelf, ",".join([*paced, offline]))
    assert found.application.tasks[0].batch_ms == pytest.approx(180, rel=0.05)
    (latency,) = [error for error in found.errors if error.metric == "end_to_end_latency_s.mean"]
    single = [open_run(shelf.root, run_id).document["summary"]["end_to_end_latency_s"]["mean"] for run_id in paced]
    assert latency.query == pytest.approx(sum(single) / 3)
    assert abs(latency.change) < 0.03


def test_a_run_that_had_not_settled_is_named_in_the_file(shelf):
    settled = shelf.keep(behaviour(0.3, 1.5))
    run_id = shelf.keep(behaviour(0.3, 1.5))
    document = shelf.root / run_id / "run.json"
    stored = json.loads(document.read_text())
    stored["summary"]["findings"] = [
        {"question": "sustained", "verdict": "fail", "reason": "backlog grows by 500 events/s"},
        {"question": "answer", "verdict": "unknown", "reason": "the answer was not checked"},
    ]
    document.write_text(json.dumps(stored))
    notes = fitted(shelf, f"{settled},{run_id}", probes=0).notes
    assert [note for note in notes if "settled" in note] == [
        f"the query may not have been settled in {fitting.anonymous_id(run_id)}: backlog grows by 500 events/s"
    ]


def test_probes_that_something_else_slowed_are_made_again_and_such_runs_are_named(shelf, machine):
    given = machine(slowdowns=(1.4, 1.1, 1.5, 1.3, 1.4))
    reference = shelf.keep(behaviour(0.3, 1.5))
    file = shelf.root / reference / "run.json"
    stored = json.loads(file.read_text())
    stored["summary"]["resources"] = {"slowdown": 1.36}
    file.write_text(json.dumps(stored))
    found = fitted(shelf, reference)
    # The first probe is made once more, the second twice.
    assert [load for load, _, _ in given] == [given[0][0]] * 2 + [given[2][0]] * 3
    assert given[0][0] != given[2][0]
    slower = "CPU contention: the reference loop ran 1.36× slower than on a quiet machine"
    assert f"{slower}, in {fitting.anonymous_id(reference)}" in found.notes
    assert f"{slower.replace('1.36', '1.3')}, in the last probe with arrivals" in found.notes


def test_one_probe_corrects_and_says_that_nothing_was_checked(shelf, machine):
    given = machine()
    found = fitted(shelf, shelf.keep(behaviour(0.3, 1.5)), probes=1)
    assert len(given) == 1
    assert found.errors == ()
    assert found.application.tasks[0].batch_ms > 0
    assert "no probe was run with this CPU work" in found.text


def test_a_query_cheaper_than_its_prototype_is_told_in_words_and_in_the_file(shelf, machine):
    machine(own_s=0.5, own_us=3.0)
    found = fitted(shelf, shelf.keep(behaviour(0.3, 1.5)))
    assert (found.application.tasks[0].processing_us, found.application.tasks[0].batch_ms) == (0.0, 0.0)
    assert len(found.cheaper) == 2
    assert "# The query is cheaper than this prototype can be: stage_1 has no CPU work" in found.text


def test_an_aggregation_is_found_with_its_keys(shelf, machine):
    machine(keys=100)
    run_id = shelf.keep(behaviour(0.3, 1.5, keys=100), state=(STATE,), workload="ysb", parameters={})
    found = fitted(shelf, run_id)
    (only,) = found.application.tasks
    assert only.window == TaskWindow("tumbling", 10, 10, "value")
    assert found.application.sources[0].data.values == 100
    assert found.application.sources[0].data.size == 20


def test_the_file_tells_nothing_of_the_application_and_reads_as_it_was_fitted(shelf, machine):
    machine()
    found = fitted(shelf, shelf.keep(behaviour(0.3, 1.5), parameters={"password_column": "hunter2"}))
    for word in ("secret", "hunter2", "password", "function"):
        assert word not in found.text
    assert read_application(found.text, name="fitted").tasks == found.application.tasks
    assert found.text.startswith("# A prototype fitted to a measured query by `streamgauge prototype fit`, from run 2")
    assert "# Last of 2 probes, end_to_end_latency_s.mean: " in found.text


@pytest.mark.parametrize(
    ("status", "told"), [("failed", "the run failed"), ("interrupted", "was interrupted"), ("running", "going on")]
)
def test_runs_that_did_not_end_are_refused(shelf, status, told):
    run_id = shelf.keep(behaviour(0.3, 1.5), status=status)
    with pytest.raises(InvalidExperimentError, match=told):
        fitted(shelf, run_id, probes=0)


def test_a_run_without_tasks_is_refused(shelf):
    run_id = shelf.keep(replace(behaviour(0.3, 1.5), tasks=[]))
    with pytest.raises(InvalidExperimentError, match="the run has no tasks"):
        fitted(shelf, run_id, probes=0)


def test_a_run_that_was_observed_is_refused_because_its_rate_is_not_known(shelf, monkeypatch):
    run_id = shelf.keep(behaviour(0.3, 1.5))
    file = shelf.root / run_id / "run.json"
    file.write_text(file.read_text().replace('"origin": "run"', '"origin": "import"', 1))
    if '"origin": "import"' not in file.read_text():
        file.write_text(file.read_text().replace('"run_id"', '"origin": "import",\n  "run_id"', 1))
    with pytest.raises(InvalidExperimentError, match="rate at which its events arrive is not known"):
        fitted(shelf, run_id, probes=0)


def test_an_iterative_workload_is_refused(shelf):
    run_id = shelf.keep(behaviour(0.3, 1.5), workload="streambench-kmeans")
    with pytest.raises(InvalidExperimentError, match="streambench-kmeans is iterative"):
        fitted(shelf, run_id, probes=0)


def test_runs_of_several_queries_are_refused(shelf):
    reference = f"{shelf.keep(behaviour(0.3, 1.5), workload='ysb')},{shelf.keep(behaviour(0.3, 1.5))}"
    with pytest.raises(InvalidExperimentError, match=r"not of one query: .* measured ysb, .* secret"):
        fitted(shelf, reference, probes=0)


def test_runs_with_other_parameters_are_refused(shelf):
    first, second = (shelf.keep(behaviour(0.3, 1.5), parameters={"n": n}) for n in (1, 2))
    with pytest.raises(InvalidExperimentError, match=r"not of one query: .* differ in "):
        fitted(shelf, f"{first},{second}", probes=0)


def test_a_set_of_several_configurations_is_refused(shelf):
    set_id = shelf.set_of([(name, shelf.keep(behaviour(0.3, 1.5))) for name in ("a", "b")])
    with pytest.raises(UsageError, match="has 2 configurations: a, b"):
        fitted(shelf, set_id, probes=0)


def test_probes_need_a_calibration_before_spark_is_started(shelf, tmp_path, monkeypatch):
    monkeypatch.setenv("STREAMGAUGE_CACHE", str(tmp_path / "nothing"))
    run_id = shelf.keep(behaviour(0.3, 1.5))
    with pytest.raises(EnvironmentNotReadyError, match="streamgauge prototype calibrate"):
        fit(run_id, runs=shelf.root)
    assert fit(run_id, runs=shelf.root, probes=0).probes == 0


def test_other_arrivals_than_flows_are_told(shelf):
    run_id = shelf.keep(behaviour(0.3, 1.5), arrivals="poisson")
    found = fitted(shelf, run_id, probes=0)
    assert found.application.sources[0].flow.rate_per_s == pytest.approx(RATE_PER_S)
    assert "add --arrivals" in found.text


def test_a_probe_has_the_settings_of_the_run_but_is_shorter():
    original = RunSettings(5e4, 60.0, trigger_s=2.0, master="local[2]", source="kafka", kafka="broker:9092", seed=7)
    found = probe_settings(original, {"source_partitions": 3, "shuffle_partitions": 4}, 4e4)
    assert (found.rate_per_s, found.trigger_s, found.seed, found.load) == (5e4, 2.0, 7, "open")
    assert (found.warmup_s, found.duration_s, found.verify) == (original.warmup_s, 30.0, True)
    assert (found.source_partitions, found.shuffle_partitions) == (3, 4)
    assert (found.source, found.kafka) == ("embedded", None)
    offline = probe_settings(replace(original, load="offline"), {"source_partitions": 2}, 4e4)
    assert (offline.load, offline.load_s) == ("offline", original.load_s)
    assert offline.rate_per_s * offline.load_s == pytest.approx(40 * 4e4), "what the query processes in 40 s"
    assert probe_settings(replace(original, load="offline"), {"source_partitions": 2}, 4e5).rate_per_s == 5e4


def test_the_cost_of_a_row_stands_outliers_and_is_never_negative():
    rows = np.linspace(10_000, 60_000, 40)
    cpu_s = 0.005 + 1.2e-6 * rows
    cpu_s[::9] += 0.2
    assert time_us_per_row(rows, cpu_s) == pytest.approx(1.2, rel=0.05)
    assert time_us_per_row(rows, cpu_s[::-1]) > 0
    assert time_us_per_row(np.zeros(3), np.ones(3)) == 0.0


def test_an_error_is_told_with_both_values_and_its_interval():
    error = Error("end_to_end_latency_s.mean", 0.4, 0.41, -0.01, 0.06)
    assert str(error) == "410 ms instead of 400 ms, +2.5% (-1.0% to +6.0%)"
    assert str(Error("processed_rate_per_s", 1000.0, 990.0)) == "990/s instead of 1k/s, -1.0%"


def test_stages_that_spark_makes_otherwise_count_together(shelf, machine):
    """A query of one stage costs less than the second stage of this prototype alone."""
    machine(keys=100)
    found = fitted(shelf, shelf.keep(behaviour(0.3, 1.5)))
    assert found.application.tasks[0].processing_us == 0.0
    assert found.cheaper[0].startswith("stage_1 has no CPU work, and takes")
