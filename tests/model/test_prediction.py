"""Predictions against the truth of made-up queries, which a second simulator tells."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from streamgauge.errors import UsageError
from streamgauge.model import Capacity, Settings, fit_model, predict, predict_all
from streamgauge.model.calibration import RUN_CV
from streamgauge.model.prediction import likeliest_latency_s
from streamgauge.model.query import UNDISTURBED
from streamgauge.model.sample import undisturbed
from streamgauge.verdict import Verdict

from .made_up import CHANCE, run_of, sample_of_run, samples, three_stages, windowed

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


def test_m4_intervals_hold_what_a_new_run_measures():
    query, hits = three_stages(), []
    for seed in range(16):
        rate, trigger_s = 60_000.0 + 15_000.0 * seed, float(seed % 2)
        measured = [
            sample_of_run(run_of(query, seed + 100 * k, rate_per_s=known, duration_s=20.0))
            for k, known in enumerate((50_000.0, 300_000.0))
        ]
        # A new run has a level of its own, as real ones have.
        level = math.exp(RUN_CV * np.random.default_rng(seed).standard_normal())
        settings = {"rate_per_s": rate, "trigger_s": trigger_s, "duration_s": 20.0}
        new = run_of(query_at_pace(query, level), 5000 + seed, **settings)
        found = predict(
            fit_model(measured, draws=20), settings_of(**settings), replications=REPLICATIONS
        ).latency_mean_s
        hits.append(found.low <= new.mean_latency_s <= found.high)
    assert 0.8 <= np.mean(hits) <= 1.0


def query_at_pace(query, pace):
    def slower(cost):
        return replace(cost, wait_s=cost.wait_s * pace, fixed_s=cost.fixed_s * pace, per_row_s=cost.per_row_s * pace)

    noise = replace(query.noise, phases_s=query.noise.phases_s * pace, gaps_s=query.noise.gaps_s * pace)
    return replace(query, stages=tuple(replace(s, cost=slower(s.cost)) for s in query.stages), noise=noise)


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
    true = float(Capacity([three_stages()], settings).sustainable_rate_per_s()[0])
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
    first, second = (predict_all(model, each, replications=20) for _ in range(2))
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
        predict(model, settings_of(trigger_s=3.0, slowdown=UNDISTURBED * factor), replications=REPLICATIONS)
        for factor in (1.0, 1.5)
    )
    ratio = slowed.batch_duration_s.value / usual.batch_duration_s.value
    assert ratio == pytest.approx(1.5, rel=0.03)
    assert usual.sustainable_rate_per_s.value > 1.4 * slowed.sustainable_rate_per_s.value
    likeliest = likeliest_latency_s(model, settings_of(trigger_s=3.0, slowdown=UNDISTURBED * 1.5))
    assert likeliest == pytest.approx(slowed.latency_mean_s.value, rel=0.03)


def test_a_run_that_was_slowed_is_taken_as_if_nothing_had_slowed_it():
    sample = sample_of_run(run_of(three_stages(), 5, rate_per_s=100_000.0))
    slowed = replace(sample, facts=replace(sample.facts, slowdown=2 * UNDISTURBED))
    found = undisturbed(slowed)
    assert found.duration_s == pytest.approx(sample.duration_s / 2)
    assert found.phases_s["query_planning"] == pytest.approx(sample.phases_s["query_planning"] / 2)
    assert found.stages[0].wall_s == pytest.approx(sample.stages[0].wall_s / 2)
    assert found.stages[1].cpu_s == pytest.approx(sample.stages[1].cpu_s / 2)
    assert found.rate_per_s == sample.rate_per_s
    assert undisturbed(sample) is sample, "nobody looked"


@pytest.mark.parametrize("slowdown", [0.5, 11.0, math.nan])
def test_what_is_no_slowdown_is_refused(slowdown):
    with pytest.raises(UsageError, match="is no slowdown"):
        settings_of(slowdown=slowdown)
