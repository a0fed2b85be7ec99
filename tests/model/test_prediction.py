"""Predictions against the truth of made-up queries, which a second simulator tells."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from streamgauge.errors import UsageError
from streamgauge.model import (
    CapacityModel,
    Estimate,
    Keys,
    Noise,
    OutputCurve,
    QueryModel,
    Settings,
    StageModel,
    TaskCost,
    fit_model,
    predict,
    simulate,
)
from streamgauge.model.cost_fit import RUN_CV
from streamgauge.model.fitted_query import FittedModel, Ranges, RunPoint
from streamgauge.model.prediction import (
    _bottleneck,
    _capacity,
    _drawn_queries,
    _level_scatter,
    _levelled,
    _likely_rows,
    _limit_rows,
    _outside,
    _run_weights,
    _with_limit,
    likeliest_latency_s,
)
from streamgauge.model.query import PHASES, QUIET_SLOWDOWN
from streamgauge.model.sample import as_if_quiet
from streamgauge.verdict import Verdict

from .made_up import CHANCE, run_of, sample_of_run, samples, three_stages, windowed
from .new_runs import at_pace, new_run

CALIBRATION = (
    {"rate_per_s": 50_000.0, "shuffle_partitions": 8},
    {"rate_per_s": 400_000.0, "shuffle_partitions": 8},
    {"rate_per_s": 150_000.0, "shuffle_partitions": 8, "cores": 1, "machine_cores": 2},
)
REPLICATIONS = 30


def truth(query, seeds=range(900, 903), **settings):
    """Return mean and p95 latency and batch duration of some runs."""
    runs = [run_of(query, seed, **settings) for seed in seeds]
    return tuple(
        float(np.mean([measure(run) for run in runs]))
        for measure in (
            lambda run: run.mean_latency_s,
            lambda run: run.latency_quantile_s(0.95),
            lambda run: run.mean_duration_s,
        )
    )


def settings_of(**settings):
    return Settings(**({"rate_per_s": 100_000.0, "cores": 2, "duration_s": 60.0} | settings))


@pytest.fixture(scope="module")
def model():
    return fit_model(samples(three_stages(), *CALIBRATION), draws=40)


OTHERS = [
    {"rate_per_s": 50_000.0, "shuffle_partitions": 8},
    {"rate_per_s": 100_000.0, "shuffle_partitions": 8},
    {"rate_per_s": 250_000.0, "shuffle_partitions": 8},
    {"rate_per_s": 600_000.0, "shuffle_partitions": 8},
    {"rate_per_s": 100_000.0, "shuffle_partitions": 8, "trigger_s": 1.0},
    {"rate_per_s": 200_000.0, "shuffle_partitions": 8, "trigger_s": 2.0},
    {"rate_per_s": 300_000.0, "shuffle_partitions": 8, "trigger_s": 0.3},
    {"rate_per_s": 100_000.0, "shuffle_partitions": 4},
    {"rate_per_s": 100_000.0, "shuffle_partitions": 2},
    {"rate_per_s": 100_000.0, "shuffle_partitions": 1},
    {"rate_per_s": 100_000.0, "shuffle_partitions": 2, "cores": 1, "machine_cores": 2},
    {"rate_per_s": 200_000.0, "shuffle_partitions": 8, "cores": 4, "machine_cores": 4},
    {"rate_per_s": 100_000.0, "shuffle_partitions": 8, "source_partitions": 6},
    {"rate_per_s": 100_000.0, "shuffle_partitions": 8, "max_rows_per_batch": 60_000},
]


def test_m4_other_settings_are_predicted_within_three_percent(model):
    query, errors = three_stages(), {"mean": [], "p95": [], "duration": []}
    for settings in OTHERS:
        found = predict(model, settings_of(**settings), replications=REPLICATIONS)
        values = (found.latency_mean_s.value, found.latency_p95_s.value, found.batch_duration_s.value)
        for name, value, true in zip(errors, values, truth(query, **settings), strict=True):
            errors[name].append(abs(value - true) / true)
    assert np.median(errors["mean"]) <= 0.03
    assert np.median(errors["p95"]) <= 0.04
    assert np.median(errors["duration"]) <= 0.03
    assert max(errors["mean"]) <= 0.08


DRAWS = 200
# Of 200 intervals that hold 90 %, 171 to 195 hold theirs with a probability of 98 %; of 200 that hold 78 %, fewer than
# 171 do with a probability of 99 %.
HELD = range(171, 196)
# The 78 % interval of a normal distribution by its 90 % interval.
NARROW = 1.2265 / 1.6449


@pytest.fixture(scope="module")
def new_runs():
    load = {"rate_per_s": 100_000.0, "duration_s": 20.0, "warmup_s": 5.0}
    asked = ({}, {"rate_per_s": 200_000.0}, {"trigger_s": 1.0})
    return [
        new_run(
            seed,
            runs=1 + seed % 3,
            scatter=RUN_CV,
            known=load,
            asked=load | asked[seed // 3 % 3],
            draws=20,
            replications=60,
        )
        for seed in range(DRAWS)
    ]


@pytest.mark.parametrize("name", ["latency mean", "latency p95", "batch duration"])
def test_m4_intervals_hold_nine_of_ten_new_runs_and_narrower_ones_would_be_noticed(new_runs, name):
    assert sum(new.holds(name) for new in new_runs) in HELD
    assert sum(new.holds(name, width=NARROW) for new in new_runs) not in HELD


@pytest.mark.parametrize("runs", [1, 2, 3])
def test_m4_intervals_hold_also_with_few_measured_runs(new_runs, runs):
    held = [new.holds("latency mean") for new in new_runs[runs - 1 :: 3]]
    assert np.mean(held) > 0.8


def test_an_interval_holds_one_more_draw_with_the_probability_that_it_says():
    # Of n draws in order, the next one is below the k-th with the probability k / (n + 1).
    found = Estimate.of(np.concatenate([np.full(40, 10.0), np.arange(1.0, 20.0)]), 40)
    assert (found.value, found.low, found.high) == (10.0, 1.0, 19.0)


def test_several_runs_are_predicted_at_the_level_that_they_have_together():
    known = {"rate_per_s": 100_000.0, "trigger_s": 1.0}
    slow, fast, mean = (
        [sample_of_run(run_of(at_pace(three_stages(), pace), seed, **known))]
        for seed, pace in enumerate((1.2, 0.8, np.sqrt(1.2 * 0.8)))
    )
    both, single = (fit_model(each, draws=10) for each in (slow + fast, mean))
    found, middle = (predict(model, settings_of(**known), replications=REPLICATIONS) for model in (both, single))
    assert found.batch_duration_s.value == pytest.approx(middle.batch_duration_s.value, rel=0.04)
    # All replications have one level, but for the pace that is drawn.
    calm = predict(replace(both, run_cv=1e-9, draws=(both.query,)), settings_of(**known), replications=REPLICATIONS)
    assert calm.batch_duration_s.high - calm.batch_duration_s.low < 0.15 * calm.batch_duration_s.value


def test_a_run_is_predicted_from_itself():
    for settings in ({"rate_per_s": 150_000.0}, {"rate_per_s": 150_000.0, "trigger_s": 1.0}):
        run = run_of(three_stages(), 77, **settings)
        found = predict(fit_model([sample_of_run(run)], draws=20), settings_of(**settings), replications=REPLICATIONS)
        assert found.latency_mean_s.value == pytest.approx(run.mean_latency_s, rel=0.03)
        assert found.batch_duration_s.value == pytest.approx(run.mean_duration_s, rel=0.03)
        assert found.processed_rate_per_s.value == pytest.approx(150_000, rel=0.02)


def test_windows_are_predicted_for_another_rate_and_trigger():
    query = windowed(2.0)
    fitted = fit_model(samples(query, {"rate_per_s": 100_000.0}, {"rate_per_s": 250_000.0}), draws=20)
    # A minute holds twelve micro-batches of 5 s, so the truth needs more minutes.
    for settings in ({"rate_per_s": 170_000.0}, {"rate_per_s": 200_000.0, "trigger_s": 5.0, "duration_s": 600.0}):
        found = predict(fitted, settings_of(**settings | {"duration_s": 60.0}), replications=REPLICATIONS)
        mean, _, duration = truth(query, **settings)
        assert found.latency_mean_s.value == pytest.approx(mean, rel=0.05)
        assert found.batch_duration_s.value == pytest.approx(duration, rel=0.05)


def test_the_sustainable_rate_is_that_of_the_true_query(model):
    settings = settings_of(shuffle_partitions=8)
    true = float(CapacityModel([three_stages()], settings).sustainable_rate_per_s()[0])
    found = predict(model, settings, replications=20).sustainable_rate_per_s
    assert found.value == pytest.approx(true, rel=0.1)
    assert found.low < true < found.high


def test_the_sustainable_rate_does_not_depend_on_the_rate_that_is_asked_for(model):
    limits = {
        predict(model, settings_of(rate_per_s=rate, duration_s=10.0), replications=10).sustainable_rate_per_s
        for rate in (50_000.0, 200_000.0, 3_000_000.0)
    }
    assert len(limits) == 1


def test_the_latency_alone_is_that_of_the_prediction(model):
    settings = settings_of(shuffle_partitions=8, trigger_s=1.0)
    value = predict(model, settings, replications=10).latency_mean_s.value
    assert likeliest_latency_s(model, settings) == pytest.approx(value, rel=0.02)


def test_inside_what_was_measured_nothing_is_said(model):
    found = predict(model, settings_of(shuffle_partitions=8), replications=20)
    assert found.inside
    assert found.notes == ()
    assert (found.verdict, found.stable, found.reasons) == (Verdict.PASS, True, ())
    assert found.latency_mean_s.low < found.latency_mean_s.value < found.latency_mean_s.high


@pytest.mark.parametrize(
    ("settings", "word"),
    [
        ({"rate_per_s": 800_000.0, "trigger_s": 5.0, "shuffle_partitions": 8}, "rows per source task"),
        ({"cores": 8, "shuffle_partitions": 8}, "8 cores were not measured, only 1, 2"),
        ({"shuffle_partitions": 16}, "over 16 partitions is assumed from 8"),
        ({"shuffle_partitions": 3}, "over 3 partitions is assumed from 8"),
    ],
    ids=["rows", "cores", "more partitions", "no divisor"],
)
def test_outside_of_what_was_measured_it_says_so_and_widens(model, settings, word):
    found = predict(model, settings_of(**settings), replications=REPLICATIONS)
    assert not found.inside
    assert any(word in note for note in found.notes)

    def width(prediction):
        return (prediction.batch_duration_s.high - prediction.batch_duration_s.low) / prediction.batch_duration_s.value

    points = tuple(
        replace(run, cores=settings.get("cores", 2), shuffle_partitions=settings["shuffle_partitions"])
        for run in model.ranges.runs
    )
    known = replace(model, ranges=replace(model.ranges, task_rows=(1.0, 1e9), runs=points))
    assert predict(known, settings_of(**settings), replications=REPLICATIONS).inside
    if word.startswith("rows"):
        assert width(found) > width(predict(known, settings_of(**settings), replications=REPLICATIONS))


def test_overload_is_told_with_its_limit(model):
    found = predict(model, settings_of(rate_per_s=4_000_000.0, shuffle_partitions=8, duration_s=30.0), replications=20)
    assert not found.stable
    assert found.load.value > 1
    assert found.verdict in (Verdict.FAIL, Verdict.UNKNOWN)
    assert any("backlog grows" in note for note in found.notes)
    assert found.processed_rate_per_s.value < 4_000_000.0


def test_a_rate_near_the_limit_is_undecided(model):
    limit = predict(model, settings_of(shuffle_partitions=8), replications=20).sustainable_rate_per_s.value
    found = predict(model, settings_of(rate_per_s=limit, shuffle_partitions=8, duration_s=20.0), replications=20)
    assert found.verdict == Verdict.UNKNOWN
    assert "the limit lies between" in found.reasons[0]


def test_the_concerns_of_a_fit_make_a_prediction_unknown(model):
    doubtful = replace(model, concerns=("only 9 micro-batches were measured, of at least 20",))
    found = predict(doubtful, settings_of(shuffle_partitions=8), replications=20)
    assert found.verdict == Verdict.UNKNOWN
    assert found.reasons == doubtful.concerns


def test_the_bottleneck_has_a_name(model):
    plain = predict(model, settings_of(rate_per_s=600_000.0, shuffle_partitions=8), replications=20)
    assert plain.bottleneck == "stage 1 (source)"
    assert 0.3 < plain.bottleneck_share < 1
    skewed = replace(
        model.query.stages[1], shares=(0.9, *[0.1 / 7] * 7), cost=replace(model.query.stages[1].cost, wait_s=2.0)
    )
    changed = replace(model.query, stages=(model.query.stages[0], skewed, model.query.stages[2]))
    found = predict(replace(model, query=changed, draws=(changed,)), settings_of(shuffle_partitions=8), replications=20)
    assert found.bottleneck == "stage 2 (shuffle, skewed)"
    limited = predict(model, settings_of(shuffle_partitions=8, max_rows_per_batch=10_000), replications=20)
    assert limited.bottleneck == "admission limit"
    idle = replace(model.query.noise, phases_s=model.query.noise.phases_s + np.array([0, 0, 0, 5.0, 0, 0, 0, 0]))
    slow = replace(model.query, noise=idle)
    found = predict(replace(model, query=slow, draws=(slow,)), settings_of(shuffle_partitions=8), replications=20)
    assert found.bottleneck == "query planning"


def test_predictions_repeat_and_share_their_draws(model):
    each = [settings_of(rate_per_s=rate, shuffle_partitions=8, duration_s=20.0) for rate in (80_000.0, 160_000.0)]
    first, second = ([predict(model, one, replications=20) for one in each] for _ in range(2))
    assert first == second
    assert first[0].latency_mean_s.value < first[1].latency_mean_s.value


def test_more_noise_between_runs_widens_the_interval(model):
    calm, wild = (
        predict(replace(model, run_cv=cv), settings_of(shuffle_partitions=8), replications=REPLICATIONS).latency_mean_s
        for cv in (0.01, 0.2)
    )
    assert wild.high - wild.low > 2 * (calm.high - calm.low)


def test_a_stateful_query_cannot_change_its_partitions_later(model):
    found = predict(
        replace(model, is_stateful=True), settings_of(shuffle_partitions=4, duration_s=10.0), replications=10
    )
    assert any("checkpoint" in note for note in found.notes)


def test_other_arrival_laws_are_predicted(model):
    level, sine = (
        predict(model, settings_of(shuffle_partitions=8, arrivals=law), replications=20)
        for law in ("constant", "sine(peak=200k, phase=20s)")
    )
    assert sine.processed_rate_per_s.value == pytest.approx(100_000, rel=0.15)
    assert sine.latency_p95_s.value > level.latency_p95_s.value


def test_the_document_has_the_keys_that_scripts_use(model):
    found = predict(model, settings_of(shuffle_partitions=8, duration_s=10.0), replications=10)
    document = json.loads(json.dumps(found.document(), allow_nan=False))
    predicted = document["predicted"]
    assert {"mean", "p50", "p95", "low", "high"} <= set(predicted["end_to_end_latency_s"])
    assert {
        "processed_rate_per_s",
        "batch_duration_s",
        "stable",
        "utilisation",
        "sustainable_rate_per_s",
        "bottleneck",
    } <= set(predicted)
    assert document["calibrated_from"] == list(model.run_ids)
    assert document["settings"]["rate_per_s"] == 100_000.0
    low, high = predicted["intervals"]["batch_duration_s"]
    assert low <= predicted["batch_duration_s"] <= high


@pytest.mark.parametrize(
    ("wrong", "where"),
    [
        ({"cores": 0}, "--cores"),
        ({"rate_per_s": 0.0}, "--rate"),
        ({"rate_per_s": math.nan}, "--rate"),
        ({"trigger_s": -1.0}, "--trigger"),
        ({"shuffle_partitions": 0}, "--shuffle-partitions"),
        ({"source_partitions": -2}, "--source-partitions"),
        ({"max_rows_per_batch": 0}, "--max-rows-per-batch"),
        ({"duration_s": 0.1}, "--duration"),
        ({"arrivals": "sinus"}, "--arrivals"),
    ],
    ids=str,
)
def test_settings_that_make_no_sense_are_refused(wrong, where):
    with pytest.raises(UsageError) as caught:
        settings_of(**wrong)
    assert caught.value.where == where
    assert caught.value.remedy


def test_chance_is_what_made_up_runs_have():
    # The tests above would be easy without it.
    assert CHANCE.batch_cv >= 0.1


def test_a_processor_that_is_slowed_by_half_takes_half_as_long_again_for_everything(model):
    usual, slowed = (
        predict(model, settings_of(trigger_s=3.0, slowdown=QUIET_SLOWDOWN * factor), replications=REPLICATIONS)
        for factor in (1.0, 1.5)
    )
    ratio = slowed.batch_duration_s.value / usual.batch_duration_s.value
    assert ratio == pytest.approx(1.5, rel=0.03)
    assert usual.sustainable_rate_per_s.value > 1.4 * slowed.sustainable_rate_per_s.value
    likeliest = likeliest_latency_s(model, settings_of(trigger_s=3.0, slowdown=QUIET_SLOWDOWN * 1.5))
    assert likeliest == pytest.approx(slowed.latency_mean_s.value, rel=0.03)


def test_a_run_that_was_slowed_is_taken_as_if_nothing_had_slowed_it():
    sample = sample_of_run(run_of(three_stages(), 5, rate_per_s=100_000.0))
    slowed = replace(sample, facts=replace(sample.facts, slowdown=2 * QUIET_SLOWDOWN))
    found = as_if_quiet(slowed)
    assert found.duration_s == pytest.approx(sample.duration_s / 2)
    assert found.phases_s["query_planning"] == pytest.approx(sample.phases_s["query_planning"] / 2)
    assert found.stages[0].wall_s == pytest.approx(sample.stages[0].wall_s / 2)
    assert found.stages[1].cpu_s == pytest.approx(sample.stages[1].cpu_s / 2)
    assert found.rate_per_s == sample.rate_per_s
    assert as_if_quiet(sample) is sample, "nobody looked"


@pytest.mark.parametrize("slowdown", [0.5, 11.0, math.nan])
def test_what_is_no_slowdown_is_refused(slowdown):
    with pytest.raises(UsageError, match="is no slowdown"):
        settings_of(slowdown=slowdown)


# The steps of a prediction, with a model that is written by hand.


def by_hand(**changes):
    """A model of one stage, from two runs of 1000 events per second on 2 and 4 cores, with 8 partitions."""
    cost = TaskCost(per_row_s=1e-5, per_written_row_s=2e-5, per_state_row_s=3e-5)
    noise = replace(
        Noise.none({"query_planning": 0.2}, (0.1,)),
        phases_s=np.repeat(Noise.none({"query_planning": 0.2}, (0.1,)).phases_s, 2, axis=0),
        gaps_s=np.full((2, 1), 0.1),
        factors=np.ones((2, 1)),
        run=np.array([0, 1]),
    )
    query = QueryModel(
        (StageModel("stage 1 (source)", "source", cost, output=OutputCurve(0.0)),),
        noise,
        4,
        dispatch_s=0.0,
        return_s=0.0,
    )
    runs = (RunPoint(1000.0, 500.0, 2, 8), RunPoint(1000.0, 250.0, 4, 8))
    model = FittedModel(
        "made-up", ("a", "b"), query, (query,), Ranges((200.0, 600.0), runs), run_cv=0.1, is_stateful=False,
        run_freedom=9, levels=(1.0, 1.0),
    )  # fmt: skip
    return replace(model, **changes)


def shuffled(**stage):
    """The same with a stage behind an exchange."""
    model = by_hand()
    second = replace(model.query.stages[0], name="stage 2 (shuffle)", tasks="shuffle", reads=(0,), after=(0,), **stage)
    noise = replace(model.query.noise, gaps_s=np.full((2, 2), 0.1), factors=np.ones((2, 2)), task_cv=(0.0, 0.0))
    query = replace(model.query, stages=(model.query.stages[0], second), noise=noise)
    return replace(model, query=query, draws=(query,))


@pytest.mark.parametrize(
    ("rows", "cores", "partitions", "spread", "settings_spread"),
    [
        (500.0, 2, 8, 0.0, 0.0),
        # A quarter beyond the measured rows still counts as inside.
        (750.0, 2, 8, 0.0, 0.0),
        (160.0, 4, 8, 0.0, 0.0),
        (750.0 * math.e, 2, 8, 0.1, 0.0),
        (160.0 / math.e, 2, 8, 0.1, 0.0),
        (500.0, 8, 8, 0.08, 0.08),
        (500.0, 1, 8, 0.08, 0.08),
        (500.0, 2, 16, 0.05, 0.05),
        (500.0, 2, 4, 0.0, 0.0),
        (500.0, 2, 5, 0.05 * math.log2(8 / 5), 0.05 * math.log2(8 / 5)),
        (750.0 * math.e, 8, 16, 0.1 + 0.08 + 0.05, 0.08 + 0.05),
        (500.0, 256, 8, 0.3, 0.3),
    ],
)
def test_costs_are_less_certain_the_further_settings_are_from_what_was_measured(
    rows, cores, partitions, spread, settings_spread
):
    found = _outside(shuffled(), Settings(1000.0, cores, shuffle_partitions=partitions), rows)
    assert found.spread == pytest.approx(spread)
    assert found.settings_spread == pytest.approx(settings_spread)
    assert bool(found.notes) is (spread > 0)


def test_keys_that_are_known_determine_any_number_of_partitions():
    keys = Keys((np.arange(9),), np.ones(9))
    settings = Settings(1000.0, 2, shuffle_partitions=5)
    assert _outside(shuffled(keys=keys), settings, 500.0).notes == ()
    assert "over 5 partitions is assumed from 8" in _outside(shuffled(), settings, 500.0).notes[0]


def test_runs_count_by_how_far_they_are_from_the_settings():
    weights = _run_weights(by_hand(), Settings(1000.0, 2, shuffle_partitions=8), 500.0)
    # The second run is a factor of 2 away by its rows and by its cores.
    assert weights == pytest.approx([1.0, math.exp(-2 * math.log(2) ** 2 / (2 * 0.5**2))])
    between = _run_weights(by_hand(), Settings(1000.0, 4, shuffle_partitions=8), 500.0)
    assert between == pytest.approx([1.0, 1.0])
    unknown = by_hand(ranges=Ranges((1.0, 2.0), (RunPoint(math.nan, 1.0, 2, 8), RunPoint(1000.0, 500.0, 2, 8))))
    assert _run_weights(unknown, Settings(1000.0, 2, shuffle_partitions=8), 500.0) == pytest.approx([0.0, 1.0])


def test_the_noise_of_every_run_gets_the_level_that_runs_have_together():
    model = by_hand(levels=(2.0, 0.5))
    even, first = (_levelled(model, np.array(weights)).query.noise for weights in ((1.0, 1.0), (1.0, 0.0)))
    assert even.factors[:, 0] == pytest.approx([0.5, 2.0])
    assert even.gaps_s[:, 0] == pytest.approx([0.05, 0.2])
    assert even.phases_s[:, PHASES.index("query_planning")] == pytest.approx([0.1, 0.4])
    assert first.factors[:, 0] == pytest.approx([1.0, 4.0])


def test_a_new_run_has_a_level_of_its_own_and_those_that_were_measured_are_known_by_few():
    model = by_hand()
    assert _level_scatter(model, np.array([2.0, 2.0])) == pytest.approx(0.1 * math.sqrt(1.5))
    assert _level_scatter(model, np.array([1.0, 0.0])) == pytest.approx(0.1 * math.sqrt(2.0))


def test_the_likeliest_query_comes_first_and_draws_have_a_pace_and_costs_of_their_own():
    model = by_hand(run_freedom=10**6)
    slower = replace(model.query, pace=2.0)
    model = replace(model, draws=(model.query, slower))
    queries = _drawn_queries(model, np.ones(2), 0.2, 4000, np.random.default_rng(1))
    assert queries[:40] == [model.query] * 40
    assert len(queries) == 4040
    drawn = queries[40:]
    for each, base in ((drawn[::2], 1.0), (drawn[1::2], 2.0)):
        paces = np.log([query.pace / base for query in each])
        assert paces.mean() == pytest.approx(0.0, abs=0.01)
        assert paces.std() == pytest.approx(0.1 * math.sqrt(1.5), rel=0.05)
    costs = [query.stages[0].cost for query in drawn]
    scales = np.array([cost.per_row_s / 1e-5 for cost in costs])
    assert scales.mean() == pytest.approx(1.0, abs=0.01)
    assert np.log(scales).std() == pytest.approx(0.2, rel=0.05)
    assert [cost.per_written_row_s / 2e-5 for cost in costs] == pytest.approx(scales)
    assert [cost.per_state_row_s / 3e-5 for cost in costs] == pytest.approx(scales)
    plain = _drawn_queries(replace(model, draws=()), np.ones(2), 0.0, 3, np.random.default_rng(1))
    assert {query.stages for query in plain} == {model.query.stages}


def test_the_largest_micro_batches_are_those_of_the_limit_or_of_a_minute_at_most():
    assert _limit_rows(Settings(1.0, 2, max_rows_per_batch=1000), 500.0) == 500.0
    assert _limit_rows(Settings(1.0, 2, source_partitions=3), 500.0) == 500.0
    assert _limit_rows(Settings(1.0, 2, trigger_s=50.0), 500.0) == 500.0 * 60 / 2


def test_the_limit_is_less_certain_beyond_the_rows_that_were_measured():
    def scatter(most_rows, **settings):
        model = by_hand(run_cv=1e-9, ranges=replace(by_hand().ranges, task_rows=(200.0, most_rows)))
        found = _capacity(model, Settings(1000.0, 1, **settings), 0.0, np.random.default_rng(1))
        assert np.log(found[:40]).std() == pytest.approx(0.0, abs=1e-6)
        return float(np.log(found[40:]).std())

    # 2.7 s of work at 10 microseconds a row are 270,000 rows.
    assert scatter(270_000.0) == pytest.approx(0.0, abs=1e-6)
    assert scatter(270_000.0 / 1.25 / math.e) == pytest.approx(0.1, rel=0.25)
    assert scatter(1.0) == pytest.approx(0.3, rel=0.25)
    assert scatter(1.0, max_rows_per_batch=10_000) == pytest.approx(0.0, abs=1e-6)


def test_a_load_without_a_measured_micro_batch_has_the_rows_of_a_trigger_or_a_second():
    never = replace(by_hand().query, noise=Noise.none({"query_planning": 1e6}, (0.0,)))
    model = by_hand(query=never, draws=(never,))
    assert _likely_rows(model, Settings(1000.0, 2)) == 500.0
    assert _likely_rows(model, Settings(1000.0, 2, trigger_s=3.0)) == 1500.0
    usual = _likely_rows(by_hand(), Settings(1000.0, 2, trigger_s=2.0, duration_s=600.0, warmup_s=100.0))
    assert usual == pytest.approx(1000.0, rel=0.01)


@pytest.mark.parametrize(
    ("adapts", "asked_s", "target_s"), [(True, None, 3.0), (False, None, math.inf), (False, 5.0, 5.0)]
)
def test_a_source_without_a_limit_that_adapts_has_none_unless_it_is_asked_for(adapts, asked_s, target_s):
    found = _with_limit(by_hand(adapts=adapts), Settings(1000.0, 2, admission_target_s=asked_s))
    assert found.target_s == target_s


def bottleneck(model, **settings):
    chosen = Settings(**{"rate_per_s": 1000.0, "cores": 2, "duration_s": 20.0} | settings)
    simulation = simulate([model.query], chosen, replications=3, rng=np.random.default_rng(1))
    return _bottleneck(model, chosen, simulation)


def test_the_bottleneck_has_the_largest_share_of_all_parts_but_the_pause():
    name, share = bottleneck(by_hand(), trigger_s=1.0)
    # Planning takes 0.2 s; the stage its gap of 0.1 s and 500 rows of 10 microseconds.
    assert (name, share) == ("query planning", pytest.approx(0.2 / 0.305, rel=0.01))
    waiting = replace(by_hand().query, noise=Noise.none({"between": 9.0}, (0.1,)))
    assert bottleneck(by_hand(query=waiting))[0] == "stage 1 (source)"


@pytest.mark.parametrize(("largest", "skew"), [(0.59, ""), (0.61, ", skewed")])
def test_a_stage_is_skewed_when_a_partition_has_a_fifth_more_than_its_share(largest, skew):
    model = shuffled(shares=(largest, 1 - largest))
    slow = replace(model.query.stages[1], cost=TaskCost(wait_s=5.0))
    model = replace(model, query=replace(model.query, stages=(model.query.stages[0], slow)))
    assert bottleneck(model)[0] == f"stage 2 (shuffle{skew})"


def test_a_limit_is_the_bottleneck_when_it_fills_more_than_half_of_the_micro_batches():
    assert bottleneck(by_hand(), trigger_s=1.0, max_rows_per_batch=900) == (
        "admission limit",
        pytest.approx(1.0, abs=0.1),
    )
    assert bottleneck(by_hand(), trigger_s=1.0, max_rows_per_batch=1100)[0] == "query planning"


def test_values_that_are_unknown_are_left_out_of_an_estimate():
    nan = math.nan
    found = Estimate.of(np.array([1.0, nan, 3.0, 10.0, nan, 20.0, 30.0]), 3)
    assert (found.value, found.low, found.high) == (2.0, 2.0, 30.0)
    assert math.isnan(Estimate.of(np.array([nan, 1.0]), 1).value)
    assert math.isnan(Estimate.of(np.array([1.0, nan]), 1).value)
    assert Estimate.of(np.array([nan]), 1).text(str) == "unknown"
