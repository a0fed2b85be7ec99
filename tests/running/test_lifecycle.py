"""The life of a run, phase by phase, on the fake engine: every interrupt, and a failure at every step."""

import signal
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise

import pytest

from streamgauge.engine import fake
from streamgauge.engine.fake import FakeEngine, FakeQuery, FakeSession
from streamgauge.errors import EnvironmentNotReadyError, InvalidExperimentError, RunFailedError
from streamgauge.lookup import find_workload
from streamgauge.measure import check_batches
from streamgauge.running import phases
from streamgauge.running.lifecycle import execute, new_run, prepare, run
from streamgauge.running.monitor import NoMonitor
from streamgauge.store import list_runs, open_run

SHORT = {"engine": "fake", "rate": "2k", "duration": "5s", "warmup": "1s", "cores": 2}


@dataclass
class Watching:
    """Notes the phases of a run, and does something once when one of them has lasted for a while."""

    when: str = ""
    after_s: float = 0.0
    act: object = None
    seen: list[str] = field(default_factory=list)

    def show(self, snapshot):
        if not self.seen or self.seen[-1] != snapshot.phase:
            self.seen.append(snapshot.phase)
        if self.act is not None and snapshot.phase == self.when and snapshot.phase_s >= self.after_s:
            act, self.act = self.act, None
            act()


def interrupt(times=1, number=signal.SIGINT):
    def act():
        for _ in range(times):
            signal.raise_signal(number)

    return act


def state(root, monitor=None, engine=None, **settings):
    workload, parameters, parsed = prepare("ysb", SHORT | settings)
    made = new_run(workload, parameters, parsed, root, monitor or NoMonitor())
    if engine is not None:
        made.engine = engine
    return made


def only(root):
    (listed,) = list_runs(root)
    return open_run(root, listed.run_id)


def test_a_run_goes_through_its_phases_in_order(tmp_path):
    watching = Watching()
    found = run("ysb", runs=tmp_path, monitor=watching, **SHORT)
    name = "the fake engine"
    assert watching.seen == [
        phases.START.format(engine=name), phases.QUERY, phases.WARM_UP, phases.MEASURE, phases.DRAIN, phases.STOP,
        phases.EVIDENCE.format(engine=name),
    ]  # fmt: skip
    assert (found.verdict, found.summary["events"], found.summary["events_processed"]) == ("pass", 12_000, 12_000)
    stored = found.stored()
    assert stored.status == "finished"
    assert check_batches(stored.batches()) == []
    assert found.summary["stages"]["missing_tasks"] == 0
    assert not (stored.path / "work").exists()
    assert {"batches.parquet", "tasks.parquet", "resources.parquet", "latency.parquet", "schedule.npy"} <= {
        file.name for file in stored.path.iterdir()
    }


def test_the_first_micro_batch_is_empty_and_comes_before_the_load(tmp_path):
    stored = run("ysb", runs=tmp_path, **SHORT).stored()
    first = stored.batches()[0]
    assert first.events == 0
    assert first.emitted_us <= stored.document["load"]["origin_us"]


@pytest.mark.parametrize(("capacity", "verdict"), [("4k", "pass"), ("1k", "fail")])
def test_c5_the_capacity_of_the_server_decides_the_verdict_and_an_overload_ends_in_time(tmp_path, capacity, verdict):
    asked = SHORT | {"engine": f"fake(capacity={capacity}, noise=0%)", "duration": "60s", "drain": "5s"}
    found = run("ysb", runs=tmp_path, **asked)
    assert found.verdict == verdict
    assert (found.summary["events_unprocessed"] > 0) == (verdict == "fail")


def test_an_offline_run_processes_all_events_at_once_without_a_latency(tmp_path):
    watching = Watching()
    asked = SHORT | {"load": "offline", "max_rows_per_batch": 1000}
    found = run("ysb", runs=tmp_path, monitor=watching, **asked)
    assert (found.verdict, found.summary["events_processed"]) == ("pass", 12_000)
    assert found.summary["offline_rate_per_s"] == pytest.approx(1000 / fake.LEAST_S, rel=0.2)
    assert sum(found.stored().table("latency")["count"].to_pylist()) == 0
    assert phases.OFFLINE in watching.seen
    assert phases.WARM_UP not in watching.seen


def test_an_online_run_offers_half_of_what_its_offline_part_reached(tmp_path):
    found = run("ysb", runs=tmp_path, **(SHORT | {"load": "online", "max_rows_per_batch": 1000}))
    assert found.summary["offered_rate_per_s"] == pytest.approx(found.summary["offline_rate_per_s"] / 2, rel=0.01)
    assert [r.run_id for r in list_runs(tmp_path)] == [found.run_id]
    assert [r.run_id for r in list_runs(found.path / "offline")] == [found.summary["offline_run_id"]]


def test_an_offline_load_with_too_few_micro_batches_ends_an_online_run(tmp_path):
    with pytest.raises(RunFailedError, match="too few micro-batches"):
        run("ysb", runs=tmp_path, **(SHORT | {"load": "online", "rate": "10"}))
    assert only(tmp_path).status == "failed"


def test_micro_batches_of_other_sizes_after_the_load_are_no_part_of_the_run(tmp_path):
    found = run("ysb", runs=tmp_path, **(SHORT | {"duration": "30s"}))
    stored = found.stored()
    assert (found.summary["events"], found.summary["events_processed"]) == (62_000, 62_000)
    explored, tasks = stored.table("explored").to_pandas(), stored.table("explored_tasks").to_pandas()
    assert explored["first"].min() == 62_000
    assert set(explored["batch_id"]).isdisjoint(batch.batch_id for batch in stored.batches())
    assert set(tasks["batch_id"]) >= set(explored["batch_id"])
    assert explored["events"].max() > 8 * explored["events"].min()


def test_a_trigger_spaces_the_micro_batches(tmp_path):
    batches = run("ysb", runs=tmp_path, **(SHORT | {"trigger": "1s"})).stored().batches()
    assert {round((b.started_us - a.started_us) / 1e6) for a, b in pairwise(batches[2:])} == {1}


# Interrupts


def test_one_interrupt_during_the_load_closes_the_gate_drains_and_stores(tmp_path):
    watching = Watching(phases.MEASURE, 2.0, interrupt())
    found = run("ysb", runs=tmp_path, monitor=watching, **SHORT)
    assert watching.seen[-3:-1] == [phases.DRAIN, phases.STOP]
    assert found.stored().status == "interrupted"
    assert found.summary["events"] == found.summary["events_processed"] == pytest.approx(6_000, rel=0.1)


def test_one_interrupt_in_the_warm_up_ends_the_load_too(tmp_path):
    found = run("ysb", runs=tmp_path, monitor=Watching(phases.WARM_UP, 0.5, interrupt(1, signal.SIGTERM)), **SHORT)
    assert found.stored().status == "interrupted"
    assert found.summary["events_processed"] < 2_000


def test_the_second_interrupt_skips_the_drain(tmp_path):
    asked = SHORT | {"engine": "fake(capacity=100)"}
    watching = Watching(phases.MEASURE, 2.0, interrupt(2))
    found = run("ysb", runs=tmp_path, monitor=watching, **asked)
    assert found.stored().status == "interrupted"
    assert found.summary["events_unprocessed"] > 0


def test_the_second_interrupt_in_the_drain_ends_it(tmp_path):
    made = state(tmp_path, engine=FakeEngine(100.0))
    made.monitor = Watching(phases.DRAIN, 1.0, interrupt(2))
    found = execute(made)
    assert found.stored().status == "interrupted"
    assert made.clock.monotonic_s() < 10.0


def test_one_interrupt_in_the_drain_lets_it_go_on(tmp_path):
    found = run("ysb", runs=tmp_path, monitor=Watching(phases.DRAIN, 0.0, interrupt()), **SHORT)
    assert (found.stored().status, found.summary["events_unprocessed"]) == ("interrupted", 0)


def test_the_third_interrupt_aborts(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        run("ysb", runs=tmp_path, monitor=Watching(phases.MEASURE, 2.0, interrupt(3)), **SHORT)
    stored = only(tmp_path)
    assert (stored.status, stored.document["reasons"]) == ("interrupted", ["interrupted before the load had ended"])
    assert len(stored.batches()) > 10, "what had been reported is stored"


@pytest.mark.parametrize("phase", [phases.START.format(engine="the fake engine"), phases.QUERY])
def test_before_the_load_the_first_interrupt_ends_the_run_at_once(tmp_path, phase):
    with pytest.raises(KeyboardInterrupt):
        run("ysb", runs=tmp_path, monitor=Watching(phase, 0.0, interrupt()), **SHORT)
    assert only(tmp_path).status == "interrupted"


def test_the_first_interrupt_ends_an_offline_load(tmp_path):
    asked = SHORT | {"load": "offline", "engine": "fake(capacity=100)"}
    found = run("ysb", runs=tmp_path, monitor=Watching(phases.OFFLINE, 5.0, interrupt()), **asked)
    assert found.stored().status == "interrupted"


def test_an_interrupted_offline_part_interrupts_the_online_run(tmp_path):
    watching = Watching(phases.OFFLINE, 0.0, interrupt())
    with pytest.raises(KeyboardInterrupt):
        run("ysb", runs=tmp_path, monitor=watching, **(SHORT | {"load": "online"}))
    assert only(tmp_path).status == "interrupted"


def test_interrupts_while_micro_batches_of_other_sizes_run_leave_the_run_finished(tmp_path):
    watching = Watching(phases.EXPLORE, 0.0, interrupt())
    found = run("ysb", runs=tmp_path, monitor=watching, **(SHORT | {"duration": "30s"}))
    assert (found.stored().status, found.verdict) == ("finished", "pass")


# Failures


class PlantedError(Exception):
    """What no engine should raise."""


@dataclass(frozen=True)
class Failing(FakeSession):
    """A session that fails at one step, and notes which queries were stopped."""

    steps: set[str] = field(default_factory=set)
    error: Exception = field(default_factory=lambda: RunFailedError("planted"))
    stopped: list[str] = field(default_factory=list)

    def at(self, step):
        if step in self.steps:
            raise self.error

    def set_shuffle_partitions(self, _count):
        self.at("partitions")

    def fields_read(self, *arguments):
        self.at("fields")
        return super().fields_read(*arguments)

    def offer(self, events):
        self.at("offer")
        return super().offer(events)

    def start(self, order, receive):
        self.at("start")
        return FailingQuery(self, order, receive)

    def executors(self):
        self.at("executors")

    def sampler(self, executors, other_pids):
        self.at("sampler")
        return super().sampler(executors, other_pids)

    def check(self):
        self.at("death")


class FailingQuery(FakeQuery):
    def __init__(self, session, order, receive):
        super().__init__(session.engine, session, order, receive)
        self.session = session

    def check(self):
        self.session.at("first look")
        if self.session.clock.monotonic_s() > 3.0:
            self.session.at("load")
        super().check()

    def stop(self):
        self.session.stopped.append("query")
        super().stop()

    def tasks(self, apart=()):
        self.session.at("tasks")
        return super().tasks(apart)


@dataclass(frozen=True)
class FailingEngine(FakeEngine):
    steps: set[str] = field(default_factory=set)
    error: Exception = field(default_factory=lambda: RunFailedError("planted"))
    stopped: list[str] = field(default_factory=list)
    closed: list[str] = field(default_factory=list)

    @contextmanager
    def open(self, _settings, *, scratch, clock, **_):
        if "open" in self.steps:
            raise self.error
        try:
            yield Failing(self, 2, scratch, clock, self.steps, self.error, self.stopped)
        finally:
            self.closed.append("session")


BEFORE = ["open", "partitions", "fields", "offer", "start"]
AFTER = ["first look", "load", "tasks", "death"]


@pytest.mark.parametrize("step", [*BEFORE, *AFTER, "executors", "sampler"])
def test_a_failure_at_any_step_is_stored_and_leaves_nothing_behind(tmp_path, step):
    engine = FailingEngine(steps={step})
    with pytest.raises(RunFailedError, match="planted") as caught:
        execute(state(tmp_path, engine=engine))
    stored = only(tmp_path)
    assert (stored.status, stored.document["verdict"], stored.document["reasons"]) == ("failed", "unknown", ["planted"])
    assert caught.value.run_id == stored.run_id
    assert str(stored.path) in "".join(caught.value.__notes__)
    assert engine.closed == ([] if step == "open" else ["session"])
    assert engine.stopped == (["query"] if step in AFTER else [])
    assert (step == "load") <= (len(stored.batches()) > 10), "what was reported before is stored"


def test_a_bug_is_stored_with_its_name_and_keeps_its_traceback(tmp_path):
    with pytest.raises(PlantedError):
        execute(state(tmp_path, engine=FailingEngine(steps={"load"}, error=PlantedError("planted"))))
    assert only(tmp_path).document["reasons"] == ["PlantedError: planted"]


def test_a_failure_of_explored_micro_batches_does_not_spoil_the_run(tmp_path):
    engine = FailingEngine()
    watching = Watching(phases.EXPLORE, 0.0, lambda: engine.steps.add("load"))
    made = state(tmp_path, watching, engine, duration="30s")
    found = execute(made)
    assert found.verdict == "pass"
    assert any("aborted: planted" in warning for warning in found.summary["warnings"])


def test_progress_that_cannot_be_read_is_a_failed_run(tmp_path):
    class Garbled(FailingQuery):
        def _progress(self, done):
            return {"batchId": done.batch_id}

    @dataclass(frozen=True)
    class Session(Failing):
        def start(self, order, receive):
            return Garbled(self, order, receive)

    @dataclass(frozen=True)
    class Engine(FakeEngine):
        @contextmanager
        def open(self, _settings, *, scratch, clock, **_):
            yield Session(self, 2, scratch, clock)

    with pytest.raises(RunFailedError, match="progress that cannot be read"):
        execute(state(tmp_path, engine=Engine()))


def test_an_engine_whose_session_lacks_something_is_refused_and_stored(tmp_path):
    @dataclass(frozen=True)
    class Engine(FakeEngine):
        @contextmanager
        def open(self, _settings, **_):
            yield object()

    with pytest.raises(EnvironmentNotReadyError, match=r"its Session lacks check, cores, .*start"):
        execute(state(tmp_path, engine=Engine()))
    assert only(tmp_path).status == "failed"


# What is asked of the engine


def test_the_dataflow_is_planned_once(tmp_path):
    planned = []

    @dataclass(frozen=True)
    class Counting(Failing):
        def fields_read(self, *arguments):
            planned.append(arguments)
            return super().fields_read(*arguments)

    @dataclass(frozen=True)
    class Engine(FakeEngine):
        is_rehearsal: bool = False

        @contextmanager
        def open(self, _settings, *, scratch, clock, **_):
            yield Counting(self, 2, scratch, clock)

    execute(state(tmp_path, engine=Engine(), load="online"))
    assert len(planned) == 1


@pytest.mark.parametrize(
    "settings",
    [{"source": "kafka"}, {"sink": "kafka"}, {"sink": "redis"}, {"mode": "micro-batch-async", "sink": "kafka"}],
)
def test_what_the_fake_engine_cannot_rehearse_is_refused_before_anything_starts(tmp_path, settings):
    with pytest.raises(InvalidExperimentError, match="the fake engine rehearses only"):
        run("hibench-identity", runs=tmp_path, **(SHORT | settings))
    assert list_runs(tmp_path) == []


def test_rehearsals_are_marked(tmp_path):
    found = run("ysb", runs=tmp_path, **SHORT)
    stored = found.stored()
    assert (stored.document["engine"], stored.document["rehearsal"]) == ("fake", True)
    assert found.summary["rehearsal"] is True
    assert "rehearsal" in found.summary["warnings"][0]
    assert found.summary["answer"] is None
    assert find_workload("ysb").answer.is_known
