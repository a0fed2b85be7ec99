"""What the model takes from run directories."""

import numpy as np
import pyarrow as pa
import pytest

from model.made_up import run_of, sample_of_run, three_stages
from model.test_sample import ORIGIN_US, tables
from streamgauge.arrivals import Constant
from streamgauge.clock import ManualClock
from streamgauge.conclude.sample import sample_of
from streamgauge.conclude.stored_run import evidence_of
from streamgauge.conclude.window import measured_part
from streamgauge.errors import InvalidExperimentError
from streamgauge.model.query import QUIET_SLOWDOWN
from streamgauge.store import RunWriter, open_run

CONFIGURATION = {"rate_per_s": 100.0, "duration_s": 13.0, "warmup_s": 2.0, "load": "open", "parameters": {}}
LOAD = {"origin_us": ORIGIN_US, "closed_us": ORIGIN_US + 15_000_000, "cores": 2}


def counted(batches):
    """Number the events of micro-batches."""
    last = np.cumsum(batches["events"])
    return batches | {"first": last - batches["events"], "last": last, "left": np.zeros(len(last), np.int64)}


def plain(many=20, **columns):
    batches, tasks = tables(many, events=np.full(many, 50), **columns)
    return counted(batches), tasks


@pytest.fixture
def store(tmp_path):
    """Store a run of these tables; what is changed of its settings and its load is given, None drops a table."""

    def one(*, workload="made-up", configuration=None, load=None, more=None, summary=None, **document):
        configuration = CONFIGURATION | (configuration or {})
        times = LOAD | (load or {})
        writer = RunWriter.create(
            tmp_path,
            workload=workload,
            document={"configuration": configuration, "load": None if load == {} else times, **document},
            clock=ManualClock(wall_offset_s=ORIGIN_US / 1e6),
        )
        load_s = configuration["warmup_s"] + configuration["duration_s"]
        writer.write_schedule(Constant(configuration["rate_per_s"]).schedule(load_s))
        for name, columns in (dict(zip(("batches", "tasks"), plain(), strict=True)) | (more or {})).items():
            if columns is not None:
                writer.write_table(name, pa.table(columns))
        writer.finish("finished", summary=summary or {"verdict": "pass"}, verdict="pass", reasons=[])
        return open_run(tmp_path, writer.run_id)

    return one


def test_settings_that_are_not_stored_are_as_many_as_there_are_cores(store):
    stored = store()
    found = sample_of(stored).facts
    assert (found.run_id, found.workload, found.cores, found.processors) == (stored.run_id, "made-up", 2, 2)
    assert (found.source_partitions, found.shuffle_partitions, found.trigger_s) == (2, 2, 0.0)
    assert (found.slide_s, found.slowdown, found.adapts) == (None, None, True)


def test_stored_settings_are_read(store):
    chosen = {"trigger_s": 1.0, "source_partitions": 3, "shuffle_partitions": 5}
    summary = {"verdict": "pass", "resources": {"slowdown": 1.3}}
    found = sample_of(store(configuration=chosen, environment={"cores": 8}, summary=summary)).facts
    assert (found.source_partitions, found.shuffle_partitions, found.trigger_s) == (3, 5, 1.0)
    assert (found.cores, found.processors, found.slowdown) == (2, 8, 1.3)
    assert sample_of(store(environment={"cores": 1})).facts.processors == 2


@pytest.mark.parametrize(
    ("configuration", "load", "numbers"),
    [
        # Emissions are 0.55 s after every second.
        ({}, {}, range(2, 15)),
        ({"warmup_s": 0.0}, {}, range(15)),
        # Of an offline load, micro-batches without events of the warm-up: those are 200, in four of them.
        ({"load": "offline"}, {"closed_us": ORIGIN_US}, range(4, 20)),
    ],
)
def test_the_sample_is_the_measured_part_of_the_run(store, configuration, load, numbers):
    stored = store(configuration=configuration, load=load or None)
    assert sample_of(stored).numbers.tolist() == list(numbers)
    assert [batch.batch_id for batch in measured_part(evidence_of(stored)).batches] == list(numbers)


def test_a_run_that_warms_up_is_cut_where_its_summary_cuts_it(store):
    batches, tasks = plain(60, every_s=0.5)
    # The first twenty micro-batches take half a second longer to emit.
    slow = np.where(np.arange(60) < 20, 450_000, 0) + np.random.default_rng(3).integers(0, 9_000, 60)
    batches["emitted_us"] = batches["emitted_us"] + slow
    batches["finished_us"] = batches["emitted_us"] + 50_000
    settings, load = {"warmup_s": 0.0, "duration_s": 32.0}, {"closed_us": ORIGIN_US + 32_000_000}
    stored = store(configuration=settings, load=load, more={"batches": batches, "tasks": tasks})
    measured = measured_part(evidence_of(stored))
    assert measured.steady.cut == 20
    assert sample_of(stored).before == 20


@pytest.mark.parametrize(
    ("workload", "mode", "parameters", "slide_s"),
    [
        ("nexmark-q5", "append", None, 2.0),
        ("nexmark-q5", "append", {"slide_s": 5}, 5.0),
        ("nexmark-q5", "update", None, None),
        ("nexmark-q5", "append", {"slide_s": "many"}, None),
        ("hibench-identity", "append", None, None),
        ("made-up", "append", None, None),
    ],
)
def test_the_slide_is_that_of_a_known_workload_that_writes_windows_as_they_close(
    store, workload, mode, parameters, slide_s
):
    stored = store(workload=workload, load={"output_mode": mode}, configuration={"parameters": parameters or {}})
    assert sample_of(stored).facts.slide_s == slide_s


def test_what_a_run_explored_after_its_load_is_read_and_slowed_as_little(store):
    batches, tasks = tables(2, first_id=20)
    summary = {"verdict": "pass", "resources": {"slowdown": 2 * QUIET_SLOWDOWN}}
    found = sample_of(store(more={"explored": batches, "explored_tasks": tasks}, summary=summary))
    assert found.explored.numbers.tolist() == [20, 21]
    assert found.explored.duration_s == pytest.approx([0.3, 0.3])
    assert found.duration_s == pytest.approx(0.3)
    assert sample_of(store(more={"explored": batches})).explored is None
    assert sample_of(store(more={"explored_tasks": tasks})).explored is None


def without(column):
    return {name: values for name, values in plain()[0].items() if name != column}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"load": {}}, "before any event was offered"),
        ({"more": {"tasks": None}}, "the run has no tasks"),
        ({"more": {"tasks": {"batch_id": [1]}}}, "columns are missing"),
        ({"more": {"batches": without("events")}}, "columns are missing: events"),
        ({"more": {"batches": without("watermark_us")}}, "the table batches lacks watermark_us"),
        ({"more": {"batches": {name: column[:0] for name, column in plain()[0].items()}}}, "the run has no batches"),
        ({"more": {"batches": plain(9)[0]}}, "only 7 micro-batches"),
    ],
)
def test_a_run_that_cannot_be_used_says_where_it_is_and_why(store, changes, said):
    stored = store(**changes)
    with pytest.raises(InvalidExperimentError, match=said) as caught:
        sample_of(stored)
    assert str(stored.path) in caught.value.where
    assert caught.value.remedy


def test_the_warm_up_is_part_of_the_sample_where_that_is_asked_for(store):
    stored = store(configuration={"load": "offline"}, load={"closed_us": ORIGIN_US})
    assert sample_of(stored, with_warmup=True).numbers.tolist() == list(range(20))


def test_fewer_micro_batches_suffice_where_that_is_asked_for(store):
    assert sample_of(store(more={"batches": plain(9)[0]}), least=7).batches == 7


def test_a_stored_run_is_read_as_it_was_made(store):
    run = run_of(three_stages(), 5, duration_s=20.0, warmup_s=10.0)
    load = {"origin_us": run.from_us - 10_000_000, "closed_us": run.until_us}
    settings = {"rate_per_s": 100_000.0, "duration_s": 20.0, "warmup_s": 10.0}
    sample = sample_of(store(configuration=settings, load=load, more={"batches": run.batches, "tasks": run.tasks}))
    expected = sample_of_run(run)
    assert sample.events.tolist() == expected.events.tolist()
    assert sample.stages[1].wall_s == pytest.approx(expected.stages[1].wall_s)
