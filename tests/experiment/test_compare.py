"""Comparing stored runs: which runs are meant, what may be compared, what is concluded, and in which words."""

import json
import math
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache

import numpy as np
import pytest

from streamgauge.clock import ManualClock
from streamgauge.engine.eventlog import tasks_table
from streamgauge.engine.resources import resources_table
from streamgauge.errors import InvalidExperimentError, UsageError
from streamgauge.experiment.changes import METRIC, MetricChange, judge, times, verdict_of
from streamgauge.experiment.compare import Comparisons, compare, compare_groups, metric_values, shared_cut_s
from streamgauge.experiment.evidence import Maximum
from streamgauge.experiment.stored import evidence_of, resolve_groups
from streamgauge.experiment.summary import summarise
from streamgauge.store import RunWriter, SetWriter, open_run, open_set
from streamgauge.store.layout import RUN_FILE
from streamgauge.verdict import Verdict

from .samples import ORIGIN_US, at_us, evidence, offline, resources, tasks

ENVIRONMENT = {
    "streamgauge": "0.1.0",
    "python": "3.11.7",
    "java": "17",
    "packages": {"numpy": "2.4.6", "pyspark": "4.3.0"},
    "system": "Linux-6",
    "processor": "AMD EPYC",
    "cores": 2,
    "memory_bytes": 2**34,
}
OPEN_METRICS = [name for name in METRIC if name != "offline_rate_per_s"]


def progress(batch):
    """Return the document from which Spark's report of a micro-batch is read, in whole milliseconds."""
    started = datetime.fromtimestamp(batch.started_us / 1e6, UTC)
    whole_ms, commit_ms = ((batch.finished_us - t) // 1000 for t in (batch.started_us, batch.emitted_us))
    return {
        "batchId": batch.batch_id,
        "timestamp": started.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "durationMs": {"addBatch": whole_ms - commit_ms, "commitOffsets": commit_ms, "triggerExecution": whole_ms},
        "sources": [{"startOffset": {"n": batch.first}, "endOffset": {"n": batch.last, "left": batch.left}}],
        "stateOperators": [],
        "sink": {"numOutputRows": 1},
    }


def slowed(run, factor):
    """Return a run whose micro-batches take `factor` times as long, and as much more CPU time."""
    batches = [
        replace(
            b,
            emitted_us=b.started_us + 1000 * round(200 * factor),
            finished_us=b.started_us + 1000 * round(250 * factor),
        )
        for b in run.batches
    ]
    work = [replace(task, cpu_s=task.cpu_s * factor) for task in tasks(batches)]
    used = [replace(s, cpu_s={k: v * factor for k, v in s.cpu_s.items()}) for s in resources(60.0)]
    return replace(run, batches=batches, tasks=work, resources=used)


def offline_run(factor):
    """Return a run that needs `factor` times as long for events that are all there at once."""
    run = offline()
    open_us = run.closed_us
    batches = [
        replace(
            b,
            **{
                name: open_us + 1000 * round((getattr(b, name) - open_us) * factor / 1000)
                for name in ("started_us", "emitted_us", "finished_us")
            },
        )
        for b in run.batches
    ]
    return replace(run, batches=batches, tasks=tasks(batches), resources=resources(60.0))


@cache
def plain_summary():
    return json.loads(json.dumps(summarise(slowed(evidence(), 1.0))))


class Shelf:
    """A folder of runs that never happened; the scatter of repeated runs is 1 %, with a fixed seed."""

    def __init__(self, root, seed=1):
        self.root = root
        self.clock = ManualClock(wall_offset_s=ORIGIN_US / 1e6)
        self.rng = np.random.default_rng(seed)

    def store(
        self, run, *, workload="ysb", parameters=None, environment=None, status="finished", summary=None, **changes
    ):
        """Store a run as `run` does; `changes` are settings."""
        self.clock.sleep(1.0)
        configuration = {**run.settings.document(), "parameters": parameters or {"campaigns": 100}, **changes}
        document = {"configuration": configuration, "environment": ENVIRONMENT | (environment or {})}
        writer = RunWriter.create(self.root, workload=workload, document=document, clock=self.clock)
        maximum = vars(run.maximum) if run.maximum else None
        load = {"origin_us": run.origin_us, "closed_us": run.closed_us, "cores": 2, "output_mode": "append"}
        writer.update(load={**load, "maximum": maximum})
        writer.write_schedule(run.schedule)
        for batch in run.batches:
            writer.append_progress(progress(batch))
        writer.write_table("tasks", tasks_table(run.tasks))
        writer.write_table("resources", resources_table(run.resources))
        if status == "running":
            return writer.run_id
        summary = summary or json.loads(json.dumps(summarise(run)))
        writer.finish(status, summary=summary, verdict=summary["verdict"], reasons=summary["reasons"])
        return writer.run_id

    def one(self, factor=1.0, **changes):
        """Store a run; of its summary only verdict and cut matter, which do not depend on the factor."""
        run = slowed(evidence(), factor * (1 + 0.01 * self.rng.standard_normal()))
        return self.store(run, summary=plain_summary(), **changes)

    def several(self, count, factor=1.0, **changes):
        """Store repeated runs and return them as a reference."""
        return ",".join(self.one(factor, **changes) for _ in range(count))

    def offline(self, count, factor=1.0, **changes):
        factors = factor * (1 + 0.01 * self.rng.standard_normal(count))
        return ",".join(self.store(offline_run(f), **changes) for f in factors)

    def set_of(self, members, kind="suite"):
        """Store a set of (name, run id) and return its id; without a name, members have none."""
        self.clock.sleep(1.0)
        writer = SetWriter.create(self.root, kind=kind, title="ysb", document={}, clock=self.clock)
        for name, run_id in members:
            writer.add(run_id, **({"name": name} if name else {}))
        return writer.set_id

    def compare(self, *references, **options):
        return compare(references, runs=self.root, **options)

    def open(self, reference):
        return open_run(self.root, reference)


@pytest.fixture
def shelf(tmp_path):
    return Shelf(tmp_path / "runs")


@dataclass(frozen=True)
class Repeated:
    """Eight runs, eight others like them, and eight that take 1.6 times as long; written once."""

    shelf: Shelf
    plain: list[str]
    like: list[str]
    slow: list[str]

    def compare(self, *sides, **options):
        return self.shelf.compare(*(",".join(side) for side in sides), **options)


@pytest.fixture(scope="module")
def repeated(tmp_path_factory):
    shelf = Shelf(tmp_path_factory.mktemp("repeated") / "runs")
    return Repeated(shelf, *(shelf.several(8, factor).split(",") for factor in (1.0, 1.0, 1.6)))


def named(found):
    """Return the metrics of the only pair by their names."""
    (comparison,) = found.comparisons
    return {metric.name: metric for metric in comparison.metrics}


# What a stored run still tells


@pytest.mark.parametrize("run", [slowed(evidence(), 1.2), offline_run(1.3)], ids=["open", "offline"])
def test_the_evidence_of_a_stored_run_gives_its_numbers_again(shelf, run):
    again = summarise(evidence_of(shelf.open(shelf.store(run))))
    whole = summarise(run)
    for name in ("end_to_end_latency_s", "batch_duration_s", "core_use", "backlog_events"):
        assert again[name] == pytest.approx(whole[name]), name
    for name in (
        "stages",
        "steady_state",
        "processed_rate_per_s",
        "offline_rate_per_s",
        "batches",
        "events",
        "verdict",
        "cores",
        "output_mode",
    ):
        assert again[name] == whole[name], name


def test_the_evidence_of_an_interrupted_run_says_so(shelf):
    found = evidence_of(shelf.open(shelf.one(status="interrupted")))
    assert found.is_interrupted
    assert found.closed_us == at_us(25.0)


def test_a_table_of_others_is_an_error_of_its_file(shelf):
    run_id = shelf.one()
    (shelf.root / run_id / "tasks.parquet").write_bytes((shelf.root / run_id / "resources.parquet").read_bytes())
    with pytest.raises(InvalidExperimentError, match="not one of ours") as caught:
        evidence_of(shelf.open(run_id))
    assert caught.value.where.endswith("tasks.parquet")


def test_a_run_without_load_has_no_evidence(shelf):
    writer = RunWriter.create(shelf.root, workload="ysb", document={}, clock=shelf.clock)
    writer.finish("failed", verdict="unknown", reasons=["boom"])
    with pytest.raises(InvalidExperimentError, match="before any event was offered"):
        evidence_of(shelf.open(writer.run_id))


# Which runs are meant


def test_a_run_is_one_group_by_id_beginning_path_and_latest(shelf):
    run_id = shelf.one()
    for reference in (run_id, run_id[:-1], str(shelf.root / run_id), "latest"):
        (group,) = resolve_groups(shelf.root, reference)
        assert [run.run_id for run in group.runs] == [run_id]
        assert group.name == run_id[16:]


def test_a_list_of_runs_is_one_group_however_long(shelf):
    reference = shelf.several(12)
    assert len(reference) > 255
    (group,) = resolve_groups(shelf.root, reference)
    assert [run.run_id for run in group.runs] == reference.split(",")
    assert group.name.endswith(" and 11 more")


def test_a_run_named_twice_is_no_repetition(shelf):
    run_id = shelf.one()
    with pytest.raises(UsageError, match="named twice"):
        resolve_groups(shelf.root, f"{run_id},{shelf.one()},{shelf.root / run_id}")


def test_a_list_without_runs_is_refused(shelf):
    with pytest.raises(UsageError, match="names no run"):
        resolve_groups(shelf.root, ",")


def test_a_set_has_a_group_per_configuration_and_repetitions_belong_together(shelf):
    ids = [shelf.one() for _ in range(4)]
    names = ("ysb[cores=1]#1", "ysb[cores=2]#1", "ysb[cores=1]#2", "ysb[cores=2]")
    set_id = shelf.set_of(zip(names, ids, strict=True))
    groups = {g.name: [run.run_id for run in g.runs] for g in resolve_groups(shelf.root, set_id)}
    assert groups == {"ysb[cores=1]": [ids[0], ids[2]], "ysb[cores=2]": [ids[1], ids[3]]}


def test_a_set_without_names_is_one_group(shelf):
    set_id = shelf.set_of([(None, shelf.one()), (None, shelf.one())], kind="repeat")
    (group,) = resolve_groups(shelf.root, set_id)
    assert len(group.runs) == 2
    assert group.name == set_id[16:]


def test_a_configuration_is_chosen_by_its_name_or_a_part_of_it(shelf):
    names = ("ysb[cores=1]", "ysb[cores=2]", "ysb")
    set_id = shelf.set_of([(name, shelf.one()) for name in names])
    for part, name in (("ysb[cores=2]", names[1]), ("ysb[cores=1", names[0]), ("cores=2", names[1]), ("ysb", "ysb")):
        assert [g.name for g in resolve_groups(shelf.root, f"{set_id}:{part}")] == [name]
    with pytest.raises(UsageError, match="part of 2 names") as caught:
        resolve_groups(shelf.root, f"{set_id}:ysb[")
    assert "ysb[cores=1], ysb[cores=2]" in caught.value.remedy
    for wrong in ("cores=3", ""):
        with pytest.raises(UsageError) as caught:
            resolve_groups(shelf.root, f"{set_id}:{wrong}")
        assert caught.value.remedy == "known names: ysb[cores=1], ysb[cores=2], ysb"


def test_a_name_with_commas_is_a_name_and_no_list(shelf):
    set_id = shelf.set_of([("ysb[rate=10k,cores=1]", shelf.one()), ("ysb[rate=10k,cores=2]", shelf.one())])
    (group,) = resolve_groups(shelf.root, f"{set_id}:ysb[rate=10k,cores=2]")
    assert group.name == "ysb[rate=10k,cores=2]"


def test_a_beginning_of_runs_and_sets_is_ambiguous_and_an_unknown_word_gets_a_suggestion(shelf):
    run_id = shelf.one()
    set_id = shelf.set_of([("ysb", run_id)])
    with pytest.raises(UsageError, match="beginning of runs and of sets"):
        resolve_groups(shelf.root, run_id[:8])
    with pytest.raises(UsageError, match="unknown run or set") as caught:
        resolve_groups(shelf.root, "x" + set_id)
    assert set_id in caught.value.remedy
    with pytest.raises(UsageError, match="unknown set"):
        resolve_groups(shelf.root, "nothing:ysb")


def test_runs_of_a_set_that_are_gone_are_named_and_an_empty_set_is_refused(shelf):
    run_id = shelf.one()
    (group,) = resolve_groups(shelf.root, shelf.set_of([("ysb", run_id), ("ysb", "20200101T000000-ysb-dead")]))
    assert ([run.run_id for run in group.runs], group.missing) == ([run_id], ("20200101T000000-ysb-dead",))
    with pytest.raises(InvalidExperimentError, match="has no runs"):
        resolve_groups(shelf.root, shelf.set_of([]))


# What is concluded


def test_twice_the_time_is_worse_in_every_metric_that_depends_on_it(repeated):
    found = repeated.compare(repeated.plain[:6], repeated.slow[:6])
    assert (found.verdict, found.exit_code) == ("worse", 6)
    metrics = named(found)
    assert list(metrics) == OPEN_METRICS
    assert metrics["batch_duration_s.mean"].change == pytest.approx(0.6, abs=0.03)
    assert metrics["stages.cpu_s_per_event"].change == pytest.approx(0.6, abs=0.03)
    assert metrics["core_use.events_per_s_per_core"].change == pytest.approx(1 / 1.6 - 1, abs=0.02)
    assert {name for name, m in metrics.items() if m.better is False} == set(OPEN_METRICS) - {"processed_rate_per_s"}
    assert metrics["processed_rate_per_s"].decision == "no change"


def test_swapping_the_sides_turns_worse_into_better(repeated):
    found = repeated.compare(repeated.slow, repeated.plain)
    assert (found.verdict, found.exit_code) == ("better", 0)
    assert all(m.better for m in named(found).values() if m.significant)
    there, back = named(repeated.compare(repeated.plain, repeated.slow)), named(found)
    for name, metric in back.items():
        assert (1 + metric.change) * (1 + there[name].change) == pytest.approx(1)
        assert metric.adjusted_p == pytest.approx(there[name].adjusted_p)


def test_a_set_compared_with_itself_says_no_change(shelf):
    set_id = shelf.set_of([("ysb", shelf.one()) for _ in range(5)])
    found = shelf.compare(set_id, set_id)
    (comparison,) = found.comparisons
    assert (found.verdict, found.exit_code) == ("no change", 0)
    assert comparison.words == ("no change in any metric: A and B hold the same values",)
    assert "A and B are the same runs" in comparison.warnings


def test_other_runs_of_the_same_configuration_say_which_change_is_not_ruled_out(repeated):
    found = repeated.compare(repeated.plain[:6], repeated.like[:6])
    (comparison,) = found.comparisons
    assert found.verdict == "no change"
    (words,) = comparison.words
    assert words.startswith("no change in any metric: none larger than ")
    largest = max(comparison.metrics, key=lambda m: m.largest_change)
    assert words.endswith(f"{100 * largest.largest_change:.2g} %, which is that of the {largest.title}")
    assert 0 < largest.largest_change < 0.1


def test_what_could_be_larger_than_relevant_is_undecided(repeated):
    found = repeated.compare(repeated.plain[:6], repeated.like[:6], relevant="0.1%")
    assert (found.verdict, found.exit_code) == ("undecided", 7)
    (comparison,) = found.comparisons
    assert comparison.words[-1].startswith("cannot be decided: ")
    assert comparison.words[-1].endswith("; more runs, or longer ones, would narrow this")


def test_offline_runs_are_compared_by_their_maximum_and_never_by_latency(shelf):
    found = shelf.compare(shelf.offline(6, 1.9), shelf.offline(6))
    assert found.verdict == "better"
    metrics = named(found)
    assert list(metrics) == [
        "offline_rate_per_s",
        "batch_duration_s.mean",
        "core_use.events_per_s_per_core",
        "stages.cpu_s_per_event",
    ]
    assert metrics["offline_rate_per_s"].change == pytest.approx(0.9, abs=0.05)
    (comparison,) = found.comparisons
    assert comparison.from_s is None
    assert comparison.words[0].startswith("B processes 1.9")
    assert " ± 0.0" in comparison.words[0]
    assert " times as many events per second as A when all events are there at once (better)" in comparison.words[0]


def test_an_online_run_has_its_maximum_too_and_its_rate_may_differ(shelf):
    def online(rate_per_s):
        maximum = Maximum(2 * rate_per_s, "inner", Verdict.PASS)
        return shelf.store(slowed(evidence(maximum=maximum), 1.0), load="online", rate_per_s=rate_per_s)

    sides = [",".join(online(rate) for rate in rates) for rates in ((1000.0, 1010.0), (1020.0, 1030.0))]
    (comparison,) = shelf.compare(*sides).comparisons
    metrics = {metric.name: metric for metric in comparison.metrics}
    assert metrics["offline_rate_per_s"].a == pytest.approx(math.sqrt(2000.0 * 2020.0))
    assert comparison.differences == ()


def test_c4_compared_runs_share_the_largest_cut(shelf):
    plain = slowed(evidence(), 1.0)
    # The first micro-batches after the warm-up emit late: a transient that the detection cuts off.
    late = [
        replace(b, emitted_us=b.emitted_us + 150_000, finished_us=b.finished_us + 150_000) if 10 < k < 20 else b
        for k, b in enumerate(plain.batches)
    ]
    # These end later without emitting later: no detection sees it, but a mean over all of them does.
    long = [replace(b, finished_us=b.finished_us + 100_000) if 10 < k < 20 else b for k, b in enumerate(plain.batches)]
    a, b = shelf.store(replace(plain, batches=late)), shelf.store(replace(plain, batches=long))
    cuts = [shelf.open(run_id).document["summary"]["steady_state"]["from_s"] for run_id in (a, b)]
    assert cuts[0] > cuts[1] == 5.0
    (comparison,) = shelf.compare(a, b).comparisons
    assert comparison.from_s == max(cuts)
    metrics = {metric.name: metric for metric in comparison.metrics}
    for run_id, side in ((a, "a"), (b, "b")):
        values = metric_values(evidence_of(shelf.open(run_id)), max(cuts))
        assert {name: getattr(m, side) for name, m in metrics.items()} == pytest.approx(
            {name: values[name] for name in metrics}
        )
    assert metrics["batch_duration_s.mean"].b == pytest.approx(0.25)
    assert metric_values(evidence_of(shelf.open(b)))["batch_duration_s.mean"] > 0.26


def test_c4_the_cut_is_found_again_where_the_summary_does_not_tell_it(shelf):
    stored = shelf.open(shelf.one())
    del stored.document["summary"]["steady_state"]
    assert shared_cut_s([(stored, evidence_of(stored))]) == 5.0


def test_a_run_of_which_the_cut_leaves_nothing_is_left_out(shelf):
    short = shelf.store(slowed(evidence(warmup_s=1.0, duration_s=3.0), 1.0))
    with pytest.raises(InvalidExperimentError, match="no micro-batch finished after second 5 of its load"):
        shelf.compare(short, shelf.one())


def simulated(rng, runs):
    """Return values of all metrics of repeated runs, which share most of their scatter."""
    shared = rng.standard_normal(runs)
    noise = {name: 0.8 * shared + 0.6 * rng.standard_normal(runs) for name in OPEN_METRICS}
    return {name: np.exp(0.05 * values) for name, values in noise.items()}


def test_s2_halves_of_a_shuffled_set_differ_in_at_most_5_percent():
    rng = np.random.default_rng(20)
    changed = 0
    for _ in range(1000):
        values = simulated(rng, 12)
        order = rng.permutation(12)
        halves = [{name: v[part] for name, v in values.items()} for part in (order[:6], order[6:])]
        (changes,) = judge([(halves[0], halves[1])])
        changed += verdict_of(changes) in ("better", "worse", "mixed")
    assert changed <= 50


@pytest.mark.parametrize("other", ["like", "slow"])
@pytest.mark.parametrize("runs", [1, 2, 3])
def test_s4_too_few_runs_cannot_be_decided_and_are_never_no_change(repeated, runs, other):
    found = repeated.compare(repeated.plain[:runs], getattr(repeated, other)[:runs])
    assert (found.verdict, found.exit_code) == ("undecided", 7)
    (comparison,) = found.comparisons
    assert {metric.decision for metric in comparison.metrics} == {"undecided"}
    lack = f"{runs} and {runs} runs cannot show a change; 4 and as many can"
    assert comparison.words == (f"cannot be decided: {lack}",)
    assert {metric.reason for metric in comparison.metrics} == {lack}
    assert all((metric.low is None) == (runs == 1) for metric in comparison.metrics)


def test_s4_as_many_runs_as_the_words_ask_for_do_show_the_change(repeated):
    assert repeated.compare(repeated.plain[:3], repeated.slow[:3]).verdict == "undecided"
    assert repeated.compare(repeated.plain[:4], repeated.slow[:4]).verdict == "worse"


def test_s4_a_set_of_two_runs_compared_with_itself_is_undecided(repeated):
    assert repeated.compare(repeated.plain[:2], repeated.plain[:2]).verdict == "undecided"


def test_s5_words_list_which_metrics_moved_and_in_which_direction(shelf):
    plain = shelf.several(6)
    dear = []
    for _ in range(6):
        run = slowed(evidence(), 1 + 0.01 * shelf.rng.standard_normal())
        dear.append(shelf.store(replace(run, tasks=[replace(t, cpu_s=1.5 * t.cpu_s) for t in run.tasks])))
    (comparison,) = shelf.compare(plain, ",".join(dear)).comparisons
    moved = [metric.name for metric in comparison.metrics if metric.significant]
    assert (comparison.verdict, moved) == ("worse", ["stages.cpu_s_per_event"])
    ratio = times(next(metric for metric in comparison.metrics if metric.significant))
    assert comparison.words[0] == f"an event takes {ratio} times the CPU time in B that it takes in A (worse)"
    assert float(ratio.split(" ± ")[0]) == pytest.approx(1.5, abs=0.02)
    assert comparison.words[1].startswith("no change in processed rate, end-to-end latency mean, ")


def test_s5_the_correction_is_over_all_metrics_of_all_pairs():
    rng = np.random.default_rng(3)
    sets = [simulated(rng, 6) for _ in range(4)]
    alone = judge([(sets[0], sets[1])])[0]
    together = judge([(sets[0], other) for other in sets[1:]])
    assert [m.p for m in together[0]] == [m.p for m in alone]
    assert all(m.adjusted_p >= m.p for m in alone)
    assert [m.adjusted_p for m in together[0]] == pytest.approx([min(1.0, 3 * m.adjusted_p) for m in alone])


def test_several_references_are_all_compared_with_the_first(repeated):
    found = repeated.compare(repeated.plain, repeated.like, repeated.slow)
    assert [(c.labels, c.verdict) for c in found.comparisons] == [(("A", "B"), "no change"), (("A", "C"), "worse")]
    assert (found.verdict, found.exit_code) == ("worse", 6)
    assert "metrics" not in found.document()
    assert "C" in found.comparisons[1].words[0]


def test_configurations_of_two_sets_are_paired_by_name(repeated):
    def suite(**runs_by_name):
        return repeated.shelf.set_of(
            [(f"{name}#{k}", r) for name, runs in runs_by_name.items() for k, r in enumerate(runs)]
        )

    before = suite(x=repeated.plain, y=repeated.like, old=repeated.plain[:1])
    found = repeated.shelf.compare(before, suite(y=repeated.slow, new=repeated.plain[:1], x=repeated.slow))
    assert {(c.a.name, c.b.name, c.verdict) for c in found.comparisons} == {
        ("x", "x", "worse"),
        ("y", "y", "worse"),
    }
    assert found.warnings == (
        "only in A, and not compared: old",
        "only in B, and not compared: new",
    )


def test_sets_without_a_common_name_are_told_how_to_choose(shelf):
    sets = [shelf.set_of([(name, shelf.one()) for name in names]) for names in (("a", "b"), ("c", "d"))]
    with pytest.raises(UsageError, match="namesake") as caught:
        shelf.compare(*sets)
    assert "the first has a, b, the other c, d" in caught.value.remedy


def test_one_configuration_is_compared_with_each_of_a_set(shelf):
    set_id = shelf.set_of([("x", shelf.one()), ("y", shelf.one())])
    found = shelf.compare(shelf.one(), set_id)
    assert [c.b.name for c in found.comparisons] == ["x", "y"]


# What may be compared


def test_different_workloads_are_refused(shelf):
    with pytest.raises(InvalidExperimentError, match="workload is ysb in A and nexmark-q1 in B") as caught:
        shelf.compare(shelf.one(), shelf.one(workload="nexmark-q1", parameters={"other": 1}))
    assert "other is" not in str(caught.value)


def test_different_parameters_are_refused_and_each_is_named(shelf):
    a = shelf.one(parameters={"window_s": 10, "skew": False, "late": False})
    b = shelf.one(parameters={"window_s": 20, "skew": True, "late": False})
    with pytest.raises(InvalidExperimentError) as caught:
        shelf.compare(a, b)
    assert "window_s is 10 in A and 20 in B; skew is False in A and True in B" in str(caught.value)
    assert "late" not in str(caught.value)


def test_an_open_load_is_not_compared_with_an_offline_one(shelf):
    with pytest.raises(InvalidExperimentError, match="load is open in A and offline in B"):
        shelf.compare(shelf.one(), shelf.offline(1))


def test_runs_of_different_settings_are_no_repetitions_but_seeds_may_differ(shelf):
    mixed = f"{shelf.one(trigger_s=1.0)},{shelf.one(trigger_s=2.0, max_rows_per_batch=7)}"
    with pytest.raises(InvalidExperimentError) as caught:
        shelf.compare(shelf.one(), mixed)
    assert "trigger_s (1.0, 2.0), max_rows_per_batch (not set, 7) differ" in str(caught.value)
    seeds = f"{shelf.one(seed=1)},{shelf.one(seed=2)}"
    (comparison,) = shelf.compare(seeds, f"{shelf.one(seed=2)},{shelf.one(seed=1)}").comparisons
    assert comparison.differences == ()
    # What comes after the load is no part of a run.
    explored = f"{shelf.one(explore=True)},{shelf.one(explore=False)}"
    assert shelf.compare(explored, f"{shelf.one(explore=False)},{shelf.one(explore=True)}").comparisons


def test_e6_every_difference_of_machine_versions_and_settings_is_named_with_both_values(shelf):
    changed = {
        "streamgauge": "0.2.0",
        "python": "3.12.1",
        "java": "21",
        "packages": {"numpy": "2.4.6", "pyspark": "4.2.0"},
        "system": "Linux-7",
        "processor": "Other",
        "cores": 8,
        "memory_bytes": 2**35,
    }
    b = shelf.one(environment=changed, master="local[1]", conf={"spark.x": "1"})
    (comparison,) = shelf.compare(shelf.one(), b).comparisons
    assert {(d.kind, d.name, d.a, d.b) for d in comparison.differences} == {
        ("setting", "master", "local[2]", "local[1]"),
        ("setting", "conf.spark.x", "not set", "1"),
        ("environment", "streamgauge", "0.1.0", "0.2.0"),
        ("environment", "python", "3.11.7", "3.12.1"),
        ("environment", "java", "17", "21"),
        ("environment", "packages.pyspark", "4.3.0", "4.2.0"),
        ("environment", "system", "Linux-6", "Linux-7"),
        ("environment", "processor", "AMD EPYC", "Other"),
        ("environment", "cores", "2", "8"),
        ("environment", "memory_bytes", str(2**34), str(2**35)),
    }
    assert "Spark: 4.3.0 against 4.2.0" in map(str, comparison.differences)
    assert any(text.startswith("machine or versions differ (streamgauge, ") for text in comparison.warnings)
    assert any(text.startswith("2 settings differ (master, conf.spark.x)") for text in comparison.warnings)


def test_e6_one_setting_that_differs_is_what_is_compared_and_no_warning(shelf):
    (comparison,) = shelf.compare(shelf.one(), shelf.one(master="local[1]")).comparisons
    assert [str(d) for d in comparison.differences] == ["master: local[2] against local[1]"]
    assert not any("differ" in text for text in comparison.warnings)


def test_e6_repetitions_on_several_machines_are_a_warning(shelf):
    mixed = f"{shelf.one()},{shelf.one(environment={'processor': 'Other'})}"
    (comparison,) = shelf.compare(shelf.one(), mixed).comparisons
    assert "B: its runs differ in machine" in comparison.warnings
    assert [(d.a, d.b) for d in comparison.differences] == [("AMD EPYC", "AMD EPYC, Other")]


def test_runs_that_did_not_finish_are_left_out_and_named(shelf):
    states = ("interrupted", "failed", "running")
    unfinished = [shelf.one(status=status) for status in states]
    finished = [shelf.one() for _ in range(2)]
    set_id = shelf.set_of([("ysb", run_id) for run_id in (*unfinished, *finished, "20200101T000000-ysb-dead")])
    (comparison,) = shelf.compare(set_id, shelf.several(2)).comparisons
    assert comparison.document()["runs"]["a"] == finished
    for run_id, state in zip(unfinished, ("was interrupted", "failed", "is still going on"), strict=True):
        assert f"A: {run_id[16:]} is left out: it {state}" in comparison.warnings
    assert "A: ysb-dead is left out: it is no longer there" in comparison.warnings


def test_a_side_without_any_finished_run_is_refused(shelf):
    with pytest.raises(InvalidExperimentError, match=r"has no run that can be compared: B: .* it was interrupted"):
        shelf.compare(shelf.one(), shelf.one(status="interrupted"))


def test_runs_in_doubt_stay_in_with_a_warning(shelf):
    overloaded = shelf.store(slowed(evidence(limit=400), 1.0))
    (comparison,) = shelf.compare(
        overloaded, overloaded + "," + shelf.store(slowed(evidence(limit=400), 1.1))
    ).comparisons
    reason = "backlog grows by 200 events/s (20 % of the offered rate)"
    assert f"A: one run with the verdict fail, e.g. {reason}" in comparison.warnings
    assert f"B: 2 of 2 runs with the verdict fail, e.g. {reason}" in comparison.warnings
    assert "one run on both sides, which hides a change" in comparison.warnings


def test_a_run_of_a_newer_version_says_so(shelf):
    a, b = shelf.one(), shelf.one()
    path = shelf.root / b / RUN_FILE
    path.write_text(json.dumps(json.loads(path.read_text()) | {"schema_version": 99}))
    with pytest.raises(InvalidExperimentError, match="schema version 99 is newer"):
        shelf.compare(a, b)


def test_the_rate_of_runs_that_kept_up_is_called_the_load(shelf):
    (comparison,) = shelf.compare(shelf.one(), shelf.one()).comparisons
    assert any(
        text.startswith("A and B were offered the same rate, 1k/s, and kept up: ") for text in comparison.warnings
    )
    more = shelf.store(slowed(evidence(rate_per_s=2000.0), 1.0))
    (comparison,) = shelf.compare(shelf.one(), more).comparisons
    assert any(text.startswith("A was offered 1k/s and B 2k/s, and both kept up") for text in comparison.warnings)
    (comparison,) = shelf.compare(
        shelf.one(), shelf.store(slowed(evidence(limit=400), 1.0), max_rows_per_batch=None)
    ).comparisons
    assert not any("kept up" in text for text in comparison.warnings)


def test_a_metric_that_not_every_run_has_is_not_compared_and_named(shelf):
    bare = shelf.store(replace(slowed(evidence(), 1.0), tasks=[], resources=[]))
    found = shelf.compare(bare, shelf.one())
    assert set(named(found)) == set(OPEN_METRICS) - {"core_use.events_per_s_per_core", "stages.cpu_s_per_event"}
    note = "not compared, because not every run has it: rate per core, CPU time per event"
    assert note in found.comparisons[0].warnings


def test_the_same_run_on_both_sides_and_a_single_side_are_refused_with_a_hint(shelf):
    run_id = shelf.one()
    with pytest.raises(UsageError, match="both sides are the run"):
        shelf.compare(run_id, str(shelf.root / run_id))
    for references in ((), (run_id,)):
        with pytest.raises(UsageError, match="needs two sides") as caught:
            shelf.compare(*references)
        assert "name two runs" in caught.value.remedy
    set_id = shelf.set_of([("x", shelf.one()), ("y", shelf.one())])
    with pytest.raises(UsageError) as caught:
        shelf.compare(set_id)
    assert f"'{set_id}:x' '{set_id}:y'" in caught.value.remedy


@pytest.mark.parametrize(
    "option", [{"confidence": "much"}, {"confidence": "100%"}, {"confidence": "0"}, {"relevant": "-1%"}]
)
def test_a_share_that_is_none_is_refused(shelf, option):
    with pytest.raises(UsageError) as caught:
        shelf.compare("a", "b", **option)
    assert caught.value.where == f"--{next(iter(option))}"


# In which words


def change(ratio, low=None, high=None, *, name="processed_rate_per_s", decision="higher", better=True):
    is_significant = decision in ("higher", "lower")
    interval = (None if end is None else end - 1 for end in (low, high))
    return MetricChange(
        name, METRIC[name].title, 1.0, ratio, ratio - 1, *interval, is_significant, decision,
        better if is_significant else None, 0.01, 0.01, "",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("ratio", "low", "high", "text"),
    [
        (1.9, 1.81, 1.99, "1.90 ± 0.09"),
        (1.9, 1.7, 2.12, "1.9 ± 0.2"),
        (1.9, 1.79, 2.01, "1.90 ± 0.11"),
        (0.62, 0.572, 0.67, "0.62 ± 0.05"),
        (1.9, 1.2, 3.0, "between 1.2 and 3"),
        (1.05, 1.004, 1.096, "between 1.004 and 1.1"),
        (123.0, 101.0, 146.0, "120 ± 20"),
        (2.0, 2.0, 2.0, "2"),
        (2.0, None, None, "2"),
    ],
)
def test_a_ratio_is_written_with_its_interval(ratio, low, high, text):
    assert times(change(ratio, low, high)) == text


@pytest.mark.parametrize(
    ("decisions", "verdict"),
    [
        (["higher", "no change"], "better"),
        (["lower", "no change"], "worse"),
        (["higher", "lower", "undecided"], "mixed"),
        (["no change", "no change"], "no change"),
        (["no change", "undecided"], "undecided"),
        (["higher", "undecided"], "better"),
    ],
)
def test_the_verdict_follows_from_what_moved(decisions, verdict):
    assert verdict_of([change(1.0, decision=d, better=d == "higher") for d in decisions]) == verdict


def test_the_worst_pair_decides_the_exit_code(shelf):
    (one,) = shelf.compare(shelf.one(), shelf.one()).comparisons
    for verdicts, code in ((("better", "no change"), 0), (("better", "undecided"), 7), (("undecided", "mixed"), 6)):
        found = Comparisons(tuple(replace(one, verdict=v) for v in verdicts), 0.95, 0.1)
        assert found.exit_code == code


def test_the_document_has_the_keys_that_scripts_use(shelf):
    document = shelf.compare(shelf.several(2), shelf.several(2)).document()
    again = json.loads(json.dumps(document, allow_nan=False))
    (pair,) = again["comparisons"]
    assert again["metrics"] == pair["metrics"]
    assert {"a", "b", "verdict", "runs", "words", "metrics", "differences", "warnings"} <= set(pair)
    for metric in again["metrics"]:
        assert set(metric) == {
            "name", "a", "b", "change", "low", "high", "significant", "decision", "better", "p", "adjusted_p", "reason",
        }  # fmt: skip
        assert metric["change"] == pytest.approx(metric["b"] / metric["a"] - 1)


def test_two_groups_can_be_compared_under_other_names(repeated):
    sides = (repeated.plain[:6], repeated.slow[:6])
    (a,), (b,) = (resolve_groups(repeated.shelf.root, ",".join(side)) for side in sides)
    comparison = compare_groups(a, b, labels=("the baseline", "this suite"))
    assert "the mean of the end-to-end latency of this suite is 1.2" in comparison.words[0]
    assert "that of the baseline (worse)" in " ".join(comparison.words)


def test_a_set_that_was_written_stays_as_it_is(shelf):
    set_id = shelf.set_of([("ysb", shelf.one()), ("ysb", shelf.one())])
    before = open_set(shelf.root, set_id).path.read_bytes()
    shelf.compare(set_id, shelf.one())
    assert open_set(shelf.root, set_id).path.read_bytes() == before
