"""Comparing stored runs: what is concluded."""

import math
from dataclasses import replace

import numpy as np
import pytest

from made_runs.samples import ORIGIN_US, evidence, tasks
from made_runs.shelf import slower
from streamgauge.arrivals import parse_law
from streamgauge.conclude.changes import judge, times, verdict_of
from streamgauge.conclude.comparison import (
    _Pair,
    _with_values,
    metric_values,
    shared_cut_s,
)
from streamgauge.conclude.evidence import Maximum
from streamgauge.conclude.stored_run import evidence_of
from streamgauge.conclude.summary import summarise
from streamgauge.errors import InvalidExperimentError, UsageError
from streamgauge.measure.statistics import Rule
from streamgauge.metrics import METRICS
from streamgauge.store import resolve_groups
from streamgauge.verdict import Verdict

OPEN_METRICS = [metric.path for metric in METRICS if metric.change and metric.path != "offline_rate_per_s"]


def named(found):
    """Return the metrics of the only pair by their names."""
    (comparison,) = found.comparisons
    return {metric.name: metric for metric in comparison.metrics}


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


def test_what_could_be_larger_than_the_margin_is_undecided(repeated):
    found = repeated.compare(repeated.plain[:6], repeated.like[:6], relevant="0.1%", margin="0.1%")
    assert (found.verdict, found.exit_code) == ("undecided", 7)
    (comparison,) = found.comparisons
    assert comparison.words[-1].startswith("inconclusive: ")
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
        return shelf.store(slower(evidence(maximum=maximum), 1.0), load="online", rate_per_s=rate_per_s)

    sides = [",".join(online(rate) for rate in rates) for rates in ((1000.0, 1010.0), (1020.0, 1030.0))]
    (comparison,) = shelf.compare(*sides).comparisons
    metrics = {metric.name: metric for metric in comparison.metrics}
    assert metrics["offline_rate_per_s"].a == pytest.approx(math.sqrt(2000.0 * 2020.0))
    assert comparison.differences == ()


def test_c4_compared_runs_share_the_largest_cut(shelf):
    plain = slower(evidence(), 1.0)
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
    short = shelf.store(slower(evidence(warmup_s=1.0, duration_s=3.0), 1.0))
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
    assert comparison.words == (f"inconclusive: {lack}",)
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
        run = slower(evidence(), 1 + 0.01 * shelf.rng.standard_normal())
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


def planted(rng, change, *, runs=5, scatter=0.03):
    """Return metrics of two sets: end-to-end latencies of the second are `change` larger."""
    shift = {name: math.log1p(change) if name.startswith("end_to_end") else 0.0 for name in OPEN_METRICS}
    shared = rng.standard_normal((2, runs))
    return [
        {
            name: np.exp(side * shift[name] + scatter * (0.9 * shared[side] + 0.44 * rng.standard_normal(runs)))
            for name in OPEN_METRICS
        }
        for side in (0, 1)
    ]


def test_a_change_of_10_percent_at_a_scatter_of_3_is_found_in_most_sets_of_five():
    rng = np.random.default_rng(11)
    verdicts = [verdict_of(judge([tuple(planted(rng, 0.1))])[0]) for _ in range(100)]
    assert verdicts.count("worse") >= 75
    assert verdicts.count("better") == 0


def test_a_change_below_the_relevant_size_is_never_worse():
    rng = np.random.default_rng(12)
    tiny = planted(rng, 0.00016, scatter=0.00001)
    (changes,) = judge([tuple(tiny)])
    assert any(change.significant for change in changes)
    assert verdict_of(changes) == "no change"
    assert verdict_of(judge([tuple(tiny)], Rule(relevant=0.0001))[0]) == "worse"


def test_runs_with_values_of_0_or_none_are_named_and_not_compared(shelf):
    a, b = shelf.open(shelf.one()), shelf.open(shelf.one())
    values = metric_values(evidence_of(a))
    for bad in (0.0, math.nan, math.inf, None):
        rows = {a.path.resolve(): values, b.path.resolve(): values | {"stages.cpu_s_per_event": bad}}
        (group_a,), (group_b,) = (resolve_groups(shelf.root, run.run_id) for run in (a, b))
        found = _with_values(_Pair(group_a, group_b, ("A", "B")), rows)
        assert "stages.cpu_s_per_event" not in found.values_a
        assert found.warnings[0] == "not compared, because not every run has it: CPU time per event"


def test_the_processed_rate_of_a_load_that_varies_is_that_of_the_run_itself(shelf):
    run = slower(evidence(), 1.0)
    schedule = parse_law("constant(rate=200) for 15s then constant(rate=1800)", rate_per_s=1000.0).schedule(
        run.settings.load_s
    )
    first, batches = 0, []
    for b in run.batches:
        last = int(schedule.created(max(0, b.started_us - ORIGIN_US)))
        batches.append(replace(b, first=first, last=last))
        first = last
    varying = replace(run, schedule=schedule, batches=batches, tasks=tasks(batches))
    summary = summarise(varying)
    values = metric_values(varying, summary["steady_state"]["from_s"])
    assert values["processed_rate_per_s"] == pytest.approx(summary["processed_rate_per_s"])
    assert values["core_use.events_per_s_per_core"] == pytest.approx(summary["core_use"]["events_per_s_per_core"])
