"""A prototype is a workload: its file decides the settings that the user leaves open."""

from dataclasses import replace

import pytest

from prototype.applications import FLOWS, LINEAR, STAR, TUMBLING, WINDOWS, pipeline, source
from streamgauge.bundle import FOLDER
from streamgauge.errors import EnvironmentNotReadyError, InvalidExperimentError, UsageError
from streamgauge.experiments.plan import make_plan
from streamgauge.experiments.suite import plan_repetitions, plan_suite
from streamgauge.lookup import find_workload, find_workloads
from streamgauge.prototype.calibration import CostLine, CostPoint, CycleCalibration, this_machine
from streamgauge.prototype.graph.application import Data, Flow, PrototypeTask, SourceTopic, TaskWindow
from streamgauge.prototype.workload import application_workload, defaults_of, verify_events
from streamgauge.running.lifecycle import prepare
from streamgauge.settings.table import with_defaults
from streamgauge.verdict import Verdict

UNLIMITED = Flow(rate_per_s=0.0)
FILE = """
pipeline:
  tasks:
    - name: numbers
      parallelism: 2
      data: {size: 6, values: 50}
      flow: {distribution: sin, rate: 3000, phase: 20}
    - name: window
      parallelism: 3
      routing: hash
      processing: 0.2
      windowing: {enabled: true, type: tumbling, duration: 5}
      parents: [numbers]
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "app.yaml"
    path.write_text(FILE)
    return path


@pytest.fixture
def calibrated(tmp_path, monkeypatch):
    monkeypatch.setenv("STREAMGAUGE_CACHE", str(tmp_path / "cache"))
    lines = {
        form: CostLine(ns, ns, ns, 0.0, (CostPoint(500, 10, 500 * ns, 0.0),))
        for form, ns in (("native", 0.5), ("arrow", 4.0))
    }
    CycleCalibration("2026-01-01T00:00:00+00:00", this_machine(), lines, Verdict.PASS).write()


def settings_of(path, **given):
    return prepare(str(path), given)[2]


def test_the_file_decides_what_the_user_leaves_open(file):
    found = settings_of(file)
    assert (found.rate_per_s, found.arrivals, found.load) == (3000.0, "sine(phase=20s, offset=0s)", "open")
    assert (found.source_partitions, found.shuffle_partitions) == (2, 3)


def test_what_the_user_gives_holds(file):
    found = settings_of(file, rate="1k", arrivals="poisson", source_partitions=7, shuffle_partitions=4, load="online")
    assert (found.rate_per_s, found.arrivals, found.load) == (1000.0, "poisson", "online")
    assert (found.source_partitions, found.shuffle_partitions) == (7, 4)


def test_another_rate_keeps_the_shape_of_the_file(file):
    assert settings_of(file, rate="6k").law.max_rate_per_s(20.0) == 6000.0


def test_settings_of_a_workload_of_the_catalogue_are_as_ever():
    found = prepare("ysb", {"load": None, "arrivals": None, "rate": None})[2]
    assert (found.load, found.arrivals, found.rate_per_s, found.source_partitions) == (
        "open",
        "constant",
        50_000.0,
        None,
    )


def test_a_command_has_its_own_defaults_where_the_file_has_none():
    assert with_defaults({}, {}, "fault")["rate"] == "20k"
    assert with_defaults({}, {"rate": 5.0}, "fault")["rate"] == 5.0


def test_sources_without_limit_exist_at_once_unless_the_user_gives_a_rate():
    defaults = defaults_of(pipeline(source(flow=UNLIMITED), *LINEAR.tasks))
    assert with_defaults({}, defaults)["load"] == "offline"
    assert "load" not in with_defaults({"rate": "10k"}, defaults)
    assert with_defaults({"rate": "10k", "load": "offline"}, defaults)["load"] == "offline"


def test_a_topic_is_where_events_come_from_unless_they_are_to_be_made_here():
    external = replace(source(flow=UNLIMITED), topic=SourceTopic("broker:9092", name="clicks"))
    defaults = defaults_of(pipeline(external, *LINEAR.tasks))
    assert with_defaults({}, defaults) == defaults
    assert (defaults["source"], defaults["kafka"], defaults["topic"]) == ("kafka", "broker:9092", "clicks")
    assert {"load", "rate"} & set(defaults) == set()
    assert set(with_defaults({"source": "embedded"}, defaults)) == {"source", "source_partitions"}


def test_there_are_fewer_tuples_at_once_the_longer_each_of_them_takes():
    light, heavy, waiting = (
        defaults_of(pipeline(source(flow=UNLIMITED), PrototypeTask("work", 1, ("source",), **load)))["rate"]
        for load in ({"processing": 0.0}, {"processing": 100.0}, {"processing": 0.0, "sojourn_ms": 5.0})
    )
    assert (light, heavy, waiting) == (500_000.0, 10_000.0, 200.0)


def test_rates_and_partitions_of_all_sources_add_up():
    assert defaults_of(STAR) == {"source_partitions": 3, "rate": 2000.0, "arrivals": "constant"}
    assert defaults_of(FLOWS)["rate"] == 1500.0


def test_a_plan_tells_what_the_file_decides_without_its_text(file):
    plan = make_plan(str(file))
    assert plan["parameters"] == {"load_form": "native", "zipf": None}
    assert plan["arrivals"].startswith("sine(peak=3k, phase=20s")
    assert (plan["source_partitions"], plan["shuffle_partitions"]) == (2, 3)


def test_the_text_of_the_file_is_kept_with_the_parameters(file):
    parameters = find_workload(str(file)).parameters()
    assert parameters.model_dump() == {"load_form": "native", "zipf": None, "application": FILE, "ns_per_cycle": None}


def test_more_values_than_can_have_a_law_of_their_own_are_refused(tmp_path):
    file = tmp_path / "many.yaml"
    file.write_text(FILE.replace("values: 50", "values: 20000000"))
    assert prepare(str(file), {"parameters": {"zipf": "0"}})[1].zipf == 0.0
    with pytest.raises(InvalidExperimentError, match="numbers has 20M values, and zipf ones can be 10M at most"):
        prepare(str(file), {"parameters": {"zipf": "1"}})


def test_only_the_form_of_the_load_and_the_law_of_the_values_can_be_set(file):
    assert prepare(str(file), {"parameters": {"load_form": "arrow"}})[1].load_form == "arrow"
    assert prepare(str(file), {"parameters": {"zipf": "1.5"}})[1].zipf == 1.5
    with pytest.raises(UsageError, match='no parameter "application"'):
        prepare(str(file), {"parameters": {"application": "x"}})


def test_a_prototype_has_its_own_events(file):
    with pytest.raises(UsageError, match="has its own events"):
        prepare(str(file), {"events": "ysb"})


def test_a_file_is_found_wherever_a_workload_is(file):
    (found,) = find_workloads(str(file))
    assert (found.name, found.family) == (str(file), "prototype")


def test_a_load_in_microseconds_needs_a_calibration(tmp_path, monkeypatch):
    monkeypatch.setenv("STREAMGAUGE_CACHE", str(tmp_path))
    timed = application_workload(
        pipeline(source(), PrototypeTask("work", 1, ("source",), processing_us=3.0)), name="x.yaml"
    )
    with pytest.raises(EnvironmentNotReadyError, match="prototype calibrate"):
        timed.check(timed.parameters(), 1000.0)


def test_a_load_in_microseconds_becomes_cycles_by_the_calibration(calibrated):
    tasks = (
        PrototypeTask("timed", 1, ("source",), processing_us=3.0),
        PrototypeTask("counted", 1, ("timed",), processing=2.5),
    )
    timed = application_workload(pipeline(source(), *tasks), name="x.yaml")
    native, arrow = timed.parameters(), timed.parameters(load_form="arrow")
    assert (native.cycles(), native.ns_per_cycle) == ({"timed": 6000, "counted": 2500}, 0.5)
    assert (arrow.cycles(), arrow.ns_per_cycle) == ({"timed": 750, "counted": 2500}, 4.0)


def test_a_calibration_of_another_machine_is_refused(calibrated, monkeypatch):
    other = replace(this_machine(), processor="another")
    monkeypatch.setattr("streamgauge.prototype.parameters.this_machine", lambda: other)
    timed = application_workload(
        pipeline(source(), PrototypeTask("work", 1, ("source",), processing_us=3.0)), name="x.yaml"
    )
    with pytest.raises(EnvironmentNotReadyError, match="another"):
        timed.check(timed.parameters(), 1000.0)


@pytest.mark.parametrize(
    ("application", "told"),
    [
        (
            pipeline(
                replace(source("a"), topic=SourceTopic("broker:9092")), source("b"), PrototypeTask("t", 1, ("a", "b"))
            ),
            "a reads the topic namb_topic, and there are 2 sources",
        ),
        (
            pipeline(source("a", flow=UNLIMITED), source("b"), PrototypeTask("t", 1, ("a", "b"))),
            "a is as fast as possible",
        ),
        (pipeline(source(data=Data(9, 10**8, "zipf")), *LINEAR.tasks), "100M values, and zipf ones can be 10M"),
        (
            pipeline(
                source(),
                *(
                    PrototypeTask(n, p, ("source",), "hash", window=TaskWindow("tumbling", 3, 3))
                    for n, p in (("a", 2), ("b", 3))
                ),
            ),
            "a has 2 and b has 3",
        ),
    ],
)
def test_what_spark_cannot_execute_is_refused(application, told):
    with pytest.raises(InvalidExperimentError, match=rf"app\.yaml: .*{told}"):
        application_workload(application, name="app.yaml")


def test_verification_takes_fewer_tuples_the_longer_each_of_them_takes():
    heavy = pipeline(source(), PrototypeTask("heavy", 1, ("source",), processing=1000.0))
    asleep = pipeline(source(), PrototypeTask("asleep", 1, ("source",), processing=0, sojourn_ms=100.0))
    assert (verify_events(LINEAR), verify_events(heavy), verify_events(asleep)) == (20_000, 5000, 300)


def test_verification_sees_several_windows_whatever_their_length():
    long = replace(TUMBLING.tasks[1], window=TaskWindow("tumbling", 300, 300))
    workload = application_workload(pipeline(source(), TUMBLING.tasks[0], long), name="x.yaml")
    assert workload.answer.events / workload.answer.rate_per_s >= 4 * 300


def test_the_output_has_what_the_sinks_give():
    def names(application):
        return [field.name for field in application_workload(application, name="x.yaml").output]

    assert names(LINEAR) == ["value", "id", "num", "timestamp"]
    assert names(TUMBLING) == ["value", "id", "num", "timestamp", "count", "earliest"]
    assert names(WINDOWS) == ["value", "id", "num", "timestamp", "count", "earliest", "task"]


def test_repeated_runs_have_the_settings_of_the_file(file):
    (configuration,) = plan_repetitions(str(file), 2, rate=None, load=None).configurations
    assert configuration.settings["rate"] == 3000.0
    assert configuration.settings["arrivals"] == "sine(phase=20s, offset=0s)"


def test_a_suite_names_a_prototype_as_seen_from_its_own_folder(file, tmp_path, monkeypatch):
    folder = tmp_path / "suites"
    folder.mkdir()
    (folder / "all.yaml").write_text(
        "streamgauge: 1\nname: all\nruns:\n  - workload: ../app.yaml\n    matrix: {rate: [1k, 2k]}\n"
    )
    monkeypatch.chdir(tmp_path)
    suite = plan_suite("suites/all.yaml")
    assert [c.workload for c in suite.configurations] == ["app.yaml", "app.yaml"]
    assert suite.configurations[0].name == "../app.yaml[rate=1k]"
    before = [run.key for run in suite.runs()]
    file.write_text(FILE.replace("0.2", "0.3"))
    assert set(before).isdisjoint(run.key for run in plan_suite("suites/all.yaml").runs())


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (None, "app.yaml cannot be run"),
        ("pipeline: 3\n", "app.yaml cannot be run"),
        (FILE.replace("values: 50", "valeus: 50"), "app.yaml cannot be run"),
    ],
)
def test_a_suite_tells_where_a_prototype_cannot_be_run(tmp_path, text, told):
    if text is not None:
        (tmp_path / "app.yaml").write_text(text)
    suite = tmp_path / "all.yaml"
    suite.write_text("streamgauge: 1\nname: all\nruns:\n  - workload: app.yaml\n")
    with pytest.raises(InvalidExperimentError, match=rf"all\.yaml:4:15: {told}"):
        plan_suite(suite)


def test_the_warnings_of_the_file_are_told():
    warned = replace(LINEAR, warnings=("dataflow is an obsolete name",))
    assert application_workload(warned, name="x.yaml").rules.warnings == ("dataflow is an obsolete name",)


def test_every_example_can_be_planned(calibrated):
    files = sorted((FOLDER / "prototypes").glob("*.yaml"))
    assert len(files) >= 5
    for path in files:
        assert make_plan(str(path))["events"] > 0
