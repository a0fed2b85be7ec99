import json
from dataclasses import replace

import pytest

from made_runs.modelled_runs import ModelledRun
from streamgauge.errors import InvalidExperimentError, UnknownVerdictError, UsageError
from streamgauge.model import partition_of
from streamgauge.predicting.predict import predict, predict_all, sweep_rates
from streamgauge.store import open_run
from streamgauge.verdict import Verdict


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    return tmp_path_factory.mktemp("runs")


@pytest.fixture(scope="module")
def stored(root):
    """Two runs of one query: 100k/s and 300k/s."""
    runs = ModelledRun()
    return [runs(workload="made-up", runs=root, rate=rate) for rate in (100_000.0, 300_000.0)]


def test_what_is_not_asked_for_is_as_in_the_run(root, stored):
    found = predict(stored[0], runs=root)
    assert (found.settings.rate_per_s, found.settings.cores, found.settings.trigger_s) == (100_000.0, 2, 0.0)
    assert (found.settings.duration_s, found.settings.warmup_s) == (15.0, 3.0)
    measured = stored[0].summary["end_to_end_latency_s"]["mean"]
    assert found.latency_mean_s.value == pytest.approx(measured, rel=0.05)
    assert found.verdict is Verdict.PASS


def test_another_rate_and_trigger_are_predicted_from_two_runs(root, stored):
    truth = ModelledRun(seed=40).store(root, rate=200_000.0, trigger=2.0, duration=60.0)
    found = predict([one.run_id for one in stored], rate="200k", trigger="2s", runs=root)
    assert found.calibrated_from == tuple(one.run_id for one in stored)
    assert found.latency_mean_s.value == pytest.approx(truth.summary["end_to_end_latency_s"]["mean"], rel=0.08)


def test_a_list_and_a_sweep_give_all_combinations_with_one_limit(root, stored):
    found = predict_all(stored, rate="50k, 100k", cores=[1, 2], runs=root)
    assert [(p.settings.rate_per_s, p.settings.cores) for p in found.predictions] == [
        (50_000.0, 1), (100_000.0, 1), (50_000.0, 2), (100_000.0, 2),
    ]  # fmt: skip
    assert set(found.varied) == {"rate_per_s", "cores"}
    swept = predict_all(stored, sweep="rate=50k:5M:4", runs=root)
    limits = {p.sustainable_rate_per_s for p in swept.predictions}
    assert len(limits) == 1
    assert (swept.predictions[0].stable, swept.predictions[-1].stable) == (True, False)
    assert swept.verdict is Verdict.PASS


def test_the_document_and_the_table_hold_the_same_numbers(root, stored):
    found = predict_all(stored, rate="50k,100k", runs=root)
    document = json.loads(json.dumps(found.document(), allow_nan=False))
    frame = found.to_pandas()
    assert document["varied"] == ["rate_per_s"]
    means = [one["predicted"]["end_to_end_latency_s"]["mean"] for one in document["predictions"]]
    assert frame["latency_mean_s"].tolist() == means
    assert (frame["latency_mean_s_low"] <= frame["latency_mean_s"]).all()
    assert "<table" in found._repr_html_()
    assert "<th>bottleneck</th>" in found.predictions[0]._repr_html_()


@pytest.mark.parametrize("text", ["", "rate", "rate=1k", "cores=1:2", "rate=2k:1k", "rate=1k:2k:1", "rate=a:b"])
def test_what_is_no_sweep_is_refused(text):
    with pytest.raises(UsageError) as caught:
        sweep_rates(text)
    assert caught.value.where == "--sweep"


@pytest.mark.parametrize(
    ("asked", "where"),
    [
        ({"cores": "0"}, "--cores"),
        ({"cores": "two"}, "--cores"),
        ({"rate": "0"}, "--rate"),
        ({"trigger": "2"}, "--trigger"),
        ({"shuffle_partitions": "0"}, "--shuffle-partitions"),
        ({"max_rows_per_batch": "0"}, "--max-rows-per-batch"),
        ({"slowdown": "0.5"}, "--slowdown"),
        ({"slowdown": "much"}, "--slowdown"),
        ({"arrivals": "sinus"}, "--arrivals"),
        ({"rate": ",".join(["1k"] * 401)}, None),
    ],
    ids=str,
)
def test_settings_that_make_no_sense_are_refused(root, stored, asked, where):
    with pytest.raises(UsageError) as caught:
        predict_all(stored[0], runs=root, **asked)
    assert caught.value.where == where


def test_runs_of_different_queries_are_refused_by_name(tmp_path):
    runs = ModelledRun()
    one, other = runs.store(tmp_path, "ysb"), runs.store(tmp_path, "nexmark-q1")
    with pytest.raises(InvalidExperimentError, match="measured ysb") as caught:
        predict([one, other], runs=tmp_path)
    assert other.run_id in str(caught.value)


def test_runs_of_one_workload_with_other_parameters_are_different_queries(tmp_path):
    runs = ModelledRun()
    one, other = (runs.store(tmp_path, "ysb", parameters={"campaigns": count}) for count in (10, 100))
    with pytest.raises(InvalidExperimentError, match="differ in campaigns"):
        predict([one, other], runs=tmp_path)


def test_a_run_without_tasks_makes_the_verdict_unknown_and_says_what_helps(tmp_path):
    run = ModelledRun().store(tmp_path, "ysb", with_tasks=False)
    with pytest.raises(UnknownVerdictError, match="has no tasks") as caught:
        predict(run, runs=tmp_path)
    assert "model calibrate ysb" in caught.value.remedy
    assert caught.value.exit_code == 7


def test_a_run_without_tasks_beside_a_whole_one_is_left_out_with_a_note(tmp_path):
    runs = ModelledRun()
    whole, broken = runs.store(tmp_path, "ysb"), runs.store(tmp_path, "ysb", with_tasks=False)
    found = predict([broken, whole], runs=tmp_path)
    assert found.calibrated_from == (whole.run_id,)
    assert any(broken.run_id in note and "left out" in note for note in found.notes)


def test_an_interrupted_run_is_predicted_from_but_not_trusted(tmp_path):
    run = ModelledRun().store(tmp_path, "ysb", status="interrupted")
    found = predict(run, runs=tmp_path)
    assert found.verdict is Verdict.UNKNOWN
    assert "did not finish" in found.reasons[0]
    assert found.latency_mean_s.value > 0


def test_too_few_micro_batches_make_the_verdict_unknown(tmp_path):
    run = ModelledRun().store(tmp_path, "ysb", trigger=2.0, duration=25.0)
    found = predict(run, runs=tmp_path)
    assert found.verdict is Verdict.UNKNOWN
    assert any("micro-batches were measured" in reason for reason in found.reasons)


def test_runs_that_contradict_each_other_make_the_verdict_unknown(tmp_path):
    runs = ModelledRun()
    first, second = (runs.store(tmp_path, "ysb") for _ in range(2))
    slow = replace(
        runs.query,
        stages=tuple(
            replace(s, cost=replace(s.cost, wait_s=4 * s.cost.wait_s, per_row_s=4 * s.cost.per_row_s))
            for s in runs.query.stages
        ),
    )
    third = ModelledRun(slow, seed=9).store(tmp_path, "ysb")
    found = predict([first, second, third], runs=tmp_path)
    assert found.verdict is Verdict.UNKNOWN
    assert any(f"tasks of {third.run_id} took" in reason for reason in found.reasons)
    assert predict([first, second], runs=tmp_path).reasons == ()


def test_a_damaged_table_is_an_error_and_not_a_lack_of_data(tmp_path):
    run = ModelledRun().store(tmp_path, "ysb")
    (run.path / "tasks.parquet").write_bytes(b"PAR1 no table")
    with pytest.raises(InvalidExperimentError, match="Parquet"):
        predict(run, runs=tmp_path)


def test_an_offline_run_tells_no_rate(tmp_path):
    run = ModelledRun().store(tmp_path, "ysb")
    document = json.loads((run.path / "run.json").read_text())
    document["configuration"]["load"] = "offline"
    document["load"]["closed_us"] = document["load"]["origin_us"]
    (run.path / "run.json").write_text(json.dumps(document))
    with pytest.raises(UsageError, match="has no rate") as caught:
        predict(open_run(tmp_path, run.run_id), runs=tmp_path)
    assert caught.value.where == "--rate"
    assert predict(run.run_id, rate="100k", runs=tmp_path).latency_mean_s.value > 0


def test_no_run_at_all_is_refused(tmp_path):
    with pytest.raises(UsageError):
        predict([], runs=tmp_path)
    with pytest.raises(UsageError):
        predict("latest", runs=tmp_path)


def test_keys_of_a_file_spread_the_rows_of_the_stages_that_they_explain(root, stored, tmp_path):
    """The second stage of the made-up query has 54 % of its rows in the first of two partitions."""
    file = tmp_path / "keys.csv"
    numbers = range(20)
    first, second = (next(n for n in numbers if partition_of(2, [n])[0] == p) for p in (0, 1))
    file.write_text(f"key,measured,weight\n{first},54,100\n{second},46,0\n")
    usual, skewed = predict(stored[0], runs=root), predict(stored[0], keys=file, runs=root)
    assert skewed.latency_mean_s.value > usual.latency_mean_s.value
    assert f"rows are spread by the keys of {file} in stage 2 (shuffle)" in skewed.notes
    file.write_text(f"key,weight\n{first},90\n{second},10\n")
    with pytest.raises(InvalidExperimentError, match="do not explain how the rows of any stage were spread"):
        predict(stored[0], keys=file, runs=root)


def test_a_measurement_that_began_before_java_had_compiled_the_driver_is_noted(root):
    runs = ModelledRun()
    cold, warm = (runs(workload="made-up", runs=root, rate=100_000.0, warmup=warmup_s) for warmup_s in (3.0, 60.0))
    told = [note for note in predict(cold, runs=root).notes if "Java compiles" in note]
    assert len(told) == 1
    assert "a longer --warmup" in told[0]
    assert not any("Java compiles" in note for note in predict(warm, runs=root).notes)
