"""How much memory long runs and logs take, told from two lengths."""

import gzip
import tracemalloc

import pyarrow as pa
import pytest

from made_runs.event_logs import RUN, START_MS, head, job, progress, stage, tail, task, text
from streamgauge.arrivals import Constant
from streamgauge.clock import ManualClock
from streamgauge.conclude import summary
from streamgauge.conclude.evidence import Evidence
from streamgauge.engine.spark import event_log as eventlog
from streamgauge.engine.spark import log_files as logfiles
from streamgauge.engine.spark.event_log import QueryTasks
from streamgauge.lookup import find_workload
from streamgauge.measure import batches_from_progress
from streamgauge.observe.import_log import import_event_log
from streamgauge.running.lifecycle import conclude, new_run
from streamgauge.running.monitor import NoMonitor
from streamgauge.settings.run_settings import RunSettings
from streamgauge.store import RunWriter, spool

STREAMING = "org.apache.spark.sql.streaming.StreamingQueryListener$"
DAY_S = 86_400
MB = 1_000_000


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    """Let what is bounded reach its bound in a short time."""
    monkeypatch.setattr(spool.Rows, "_part", 256)
    monkeypatch.setattr(spool.Documents, "_part", 16)
    monkeypatch.setattr(logfiles, "MAX_LINE_BYTES", 4 * MB)
    for module in (eventlog, summary):
        monkeypatch.setattr(module, "MAX_STAGES", 64)


def micro_batches(count, *, tasks=8):
    """Yield the lines of a query that runs a micro-batch a second, each with a plan that nobody reads."""
    plan = {"Event": "org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionStart", "plan": "Project " * 2000}
    for k in range(count):
        at_ms = START_MS + 1000 * k
        yield text(
            [plan, job(k, k, {k: tasks}), *(task(k, p, at_ms + 5) for p in range(tasks)), stage(k, tasks, at_ms)]
        )
        reported = progress(k, at_ms, 1000, observedMetrics={"long": "x" * 2000})
        yield text([{"Event": f"{STREAMING}QueryProgressEvent", "progress": reported}])


def peak_bytes(work):
    """Return the most memory that some work takes: that of Python, and that of Arrow."""
    pool = pa.default_memory_pool()
    before = pool.bytes_allocated()
    tracemalloc.start()
    work()
    python = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return python + max(0, pool.bytes_allocated() - before)


def write_log(path, count):
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(text(head()))
        for lines in micro_batches(count):
            file.write(lines)
        file.write(text(tail()))
    return path


def import_peak(folder, count):
    log, clock = write_log(folder / f"{count}.gz", count), ManualClock(now_s=1_700_000_000.0)
    return peak_bytes(lambda: import_event_log(log, runs=folder / "runs", clock=clock))


def test_the_memory_of_an_import_grows_little_with_the_length_of_the_log(tmp_path):
    # The first import loads what is imported where it is used.
    import_peak(tmp_path, 10)
    slope = (import_peak(tmp_path, 400) - import_peak(tmp_path, 200)) / 200
    assert DAY_S * slope < 250 * MB


def tasks_peak(folder, count):
    log = folder / f"{count}" / "eventlog_v2_local-1"
    log.mkdir(parents=True)

    def read():
        tasks = QueryTasks(log.parent, query_run_id=RUN)
        for number, lines in enumerate(micro_batches(count), 1):
            (log / f"events_{number}_local-1").write_bytes(lines)
            tasks.follow()
            assert len(list(log.iterdir())) == 1
        assert len(tasks.all()) == 8 * count

    return peak_bytes(read)


def test_the_memory_of_the_tasks_of_a_run_does_not_grow_with_its_length(tmp_path):
    tasks_peak(tmp_path, 10)
    assert tasks_peak(tmp_path, 300) - tasks_peak(tmp_path, 150) < 0.1 * MB


@pytest.mark.parametrize("line", [b"x", b'{"Event":"Plan","x":"', b'{"Event":"SparkListenerTaskEnd","x":"'])
def test_a_line_of_any_length_takes_little_memory_and_is_a_hole_if_it_should_be_read(tmp_path, line):
    """Half a megabyte of gzip can be half a gigabyte of text."""
    path = tmp_path / "log.gz"
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(text(head()) + line)
        for _ in range(40):
            file.write(bytes(MB))
        file.write(b"\n" + b"".join(micro_batches(2)) + text(tail()))
    assert path.stat().st_size < MB
    clock = ManualClock(now_s=1_700_000_000.0)
    found = []
    peak = peak_bytes(lambda: found.append(import_event_log(path, runs=tmp_path / "runs", clock=clock)))
    assert peak < 25 * MB
    (run,) = found[0].runs
    assert len(run.stored().batches()) == 2
    is_hole = any("1 lines of the log cannot be read" in note for note in found[0].notes)
    assert is_hole == (not line.startswith(b'{"Event":"Plan"'))


def test_how_far_a_log_is_read_is_told(tmp_path):
    log = write_log(tmp_path / "log.gz", 40)
    told = []
    import_event_log(log, runs=tmp_path / "runs", report_progress=lambda done, size: told.append((done, size)))
    size = log.stat().st_size
    assert told[-1] == (size, size)
    assert [done for done, _ in told] == sorted(done for done, _ in told)
    assert 0 < told[0][0] <= size


def run_peak(folder, count):
    """Sum up and store a run of our own whose tasks were read from a log."""
    log = folder / f"{count}" / "eventlog_v2_local-1"
    log.mkdir(parents=True)
    schedule = Constant(1000.0).schedule(float(count))
    settings = RunSettings(rate_per_s=1000.0, duration_s=float(count), warmup_s=0.0)
    clock = ManualClock(now_s=1_700_000_000.0)
    run = new_run(find_workload("ysb"), None, settings, folder, NoMonitor(), clock=clock)

    def measure():
        tasks = QueryTasks(log.parent, query_run_id=RUN)
        for number, lines in enumerate(micro_batches(count), 1):
            (log / f"events_{number}_local-1").write_bytes(lines)
            tasks.follow()
        batches = batches_from_progress(progress(k, START_MS + 1000 * k, 0, sources=[ours(k)]) for k in range(count))
        run.writer = RunWriter.create(folder / "runs", workload="ysb", document={}, clock=clock)
        origin_us = START_MS * 1000 - 1_000_000
        evidence = Evidence(
            settings, schedule, origin_us, origin_us + count * 1_000_000, batches, 2, "append", tasks=tasks.all()
        )
        assert conclude(run, evidence).summary["stages"]["tasks"] > 0

    return peak_bytes(measure)


def ours(k):
    return {"startOffset": {"n": 1000 * k}, "endOffset": {"n": 1000 * k + 1000, "left": 0}, "numInputRows": 1}


def test_the_memory_of_a_run_of_a_day_is_bounded(tmp_path):
    run_peak(tmp_path, 10)
    slope = (run_peak(tmp_path, 400) - run_peak(tmp_path, 200)) / 200
    assert DAY_S * slope < 250 * MB
