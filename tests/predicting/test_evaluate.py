import json
from dataclasses import replace

import numpy as np
import pytest

from made_runs.modelled_runs import ModelledRun
from model.made_up import three_stages
from streamgauge.errors import UsageError
from streamgauge.lookup import find_workload, is_prototype
from streamgauge.model import Keys
from streamgauge.model.query import QUIET_SLOWDOWN
from streamgauge.predicting.evaluate import evaluate, evaluation_workloads, follow
from streamgauge.predicting.evaluation import ErrorLine, Evaluation, Pair
from streamgauge.predicting.protocol import EvaluationProtocol, Step, choose_protocol, full_protocol, quick_protocol
from streamgauge.report.content.model_sets import matrix
from streamgauge.report.terminal.evaluation import plan_text
from streamgauge.running.monitor import NoMonitor
from streamgauge.verdict import Verdict

HASHED = """
pipeline:
  tasks:
    - {name: source, data: {size: 1, values: 2}, flow: {rate: 1000}}
    - {name: task, parents: [source], parallelism: 2, routing: hash, processing: 0}
"""
SHORT = EvaluationProtocol(
    (Step("25%", 0.25), Step("50%", 0.5), Step("25%, 4 partitions", 0.25, {"shuffle_partitions": 4}, once=True)),
    duration_s=12.0,
    warmup_s=3.0,
    repetitions=2,
)


def short(root, measure, **more):
    return follow(replace(SHORT, **more), ["ysb"], root=root, monitor=NoMonitor(), measure=measure)


@pytest.fixture(scope="module")
def evaluated(tmp_path_factory):
    root, runs = tmp_path_factory.mktemp("runs"), ModelledRun()
    return root, runs, short(root, runs)


def test_all_steps_are_run_in_turns_after_the_offline_maximum(evaluated):
    _, runs, _ = evaluated
    assert runs.calls[0]["load"] == "offline"
    assert [call["rate"] for call in runs.calls[1:]] == [110_000.0, 220_000.0, 110_000.0, 110_000.0, 220_000.0]
    assert [call.get("shuffle_partitions") for call in runs.calls[1:]] == [None, None, 4, None, None]


def test_a_query_that_is_through_too_soon_gets_more_events(tmp_path):
    runs = ModelledRun(offline_s=2.0)
    short(tmp_path, runs, steps=SHORT.steps[:1], repetitions=1)
    assert [call["load"] for call in runs.calls[:2]] == ["offline", "offline"]
    assert [call["rate"] for call in runs.calls] == [400_000.0, 440_000.0, 110_000.0]


def test_runs_that_something_else_slowed_are_made_again_and_do_not_count(tmp_path):
    runs = ModelledRun(slowdowns=(1.4, 1.05, 1.5, 1.1, 1.3))
    found = short(tmp_path, runs, steps=SHORT.steps[:2], repetitions=1)
    offline, quarter, half = 400_000.0, 110_000.0, 220_000.0
    # The offline run and that at half of it are slowed, and the latter once more.
    assert [call["rate"] for call in runs.calls] == [offline, quarter, half, offline, half, half]
    members = json.loads((tmp_path / "sets" / f"{found.set_id}.json").read_text())["members"]
    assert {pair.run_id for pair in found.pairs} == {members[1]["run_id"], members[5]["run_id"]}
    assert found.notes == ("3 contended runs were re-run: others took part of the machine",)


def test_a_machine_that_is_never_quiet_gives_its_quietest_runs(tmp_path):
    runs = ModelledRun(slowdowns=(1.0, 1.5, 1.3, 1.4))
    found = short(tmp_path, runs, steps=SHORT.steps[:1], repetitions=1)
    assert len(runs.calls) == 4
    members = json.loads((tmp_path / "sets" / f"{found.set_id}.json").read_text())["members"]
    assert {pair.run_id for pair in found.pairs} == {members[2]["run_id"]}


def test_every_run_predicts_every_other_step_and_itself(evaluated):
    _, _, found = evaluated
    assert len(found.pairs) == 5 * 3
    assert {pair.case for pair in found.pairs} == {"itself", "rate or trigger", "adjacent", "other"}
    own = [pair for pair in found.pairs if pair.case == "itself"]
    assert all(pair.source == pair.target for pair in own)
    assert len(own) == 5


def test_known_queries_are_predicted_well_and_better_than_by_simpler_models(evaluated):
    _, _, found = evaluated
    lines = {line.name: line for line in found.lines}
    assert lines["mean latency, from itself"].median < 0.04
    assert lines["mean latency, all pairs"].median < 0.10
    assert lines["rows per partition, by folding or keys"].median < 0.01
    ours, *simpler = found.baselines
    assert ours.name == "this model"
    assert all(ours.median < other.median for other in simpler)


def test_without_the_driver_predictions_are_worse(evaluated):
    _, _, found = evaluated
    ours = found.ablations[0].median
    assert {line.name: line.median for line in found.ablations}["without driver overhead"] > 2 * ours


def test_the_model_is_told_how_much_the_processor_was_slowed(evaluated, tmp_path):
    """The last run is as fast as the others, and says that it was slowed: who believes it is wrong."""
    _, _, quiet = evaluated
    slowed = short(
        tmp_path, ModelledRun(slowdowns=(QUIET_SLOWDOWN,) * 2 + (1.15,)), steps=SHORT.steps[:2], repetitions=1
    )
    names = [line.name for line in slowed.ablations]
    assert names == [line.name for line in quiet.ablations]
    assert names[-1] == "without slowdown"
    told, untold = (next(line for line in slowed.ablations if line.name == name) for name in (names[0], names[-1]))
    # What it was told is not so.
    assert told.median > untold.median


def test_the_answer_is_stored_with_its_set_as_json(evaluated):
    root, _, found = evaluated
    stored = json.loads((root / "sets" / f"{found.set_id}.json").read_text())
    assert stored["status"] == "finished"
    assert stored["result"]["verdict"] == found.verdict.value
    assert len(stored["result"]["pairs"]) == 15
    assert stored["result"]["noise"]["latency_mean_s"] > 0


def test_an_evaluation_that_was_broken_off_goes_on_where_it_ended(tmp_path):
    runs, is_broken = ModelledRun(), True

    def breaks_off(**arguments):
        if len(runs.calls) == 2 and is_broken:
            raise KeyboardInterrupt
        return runs(**arguments)

    def go_on(**more):
        two = replace(SHORT, steps=SHORT.steps[:2], repetitions=1) if not more else replace(SHORT, **more)
        return follow(two, ["ysb"], root=tmp_path, monitor=NoMonitor(), measure=breaks_off, resume=set_id)

    set_id = None
    with pytest.raises(KeyboardInterrupt):
        go_on()
    (set_id,) = [path.stem for path in (tmp_path / "sets").glob("*.json")]
    with pytest.raises(UsageError, match="other settings"):
        go_on(repetitions=3)
    is_broken = False
    found = go_on()
    assert len(runs.calls) == 3
    # Without repetitions nobody knows the noise.
    assert found.noise["latency_mean_s"] is None


def pair(error, case="rate or trigger", **changes):
    usual = Pair(
        "ysb", "a", "b", "run", case, {"latency_mean_s": 1.0, "latency_p95_s": 1.0, "batch_duration_s": 1.0},
        {"latency_mean_s": 1 + error, "latency_p95_s": 1 + error, "batch_duration_s": 1.0},
        {"constant": 0.5, "linear regression": 0.4, "ideal speed-up": 0.4, "M/M/1 per stage": float("inf")},
        {"without skew": 0.1, "without contention": 0.1, "without driver overhead": -0.6, "without slowdown": 0.2},
        (True,),
    )  # fmt: skip
    return replace(usual, **changes)


def evaluation(pairs, noise=0.02):
    return Evaluation("set", ("ysb",), tuple(pairs), (), {"latency_mean_s": noise})


def line(found, name):
    return next(line for line in found.lines if line.name.startswith(name))


def test_errors_beyond_an_aim_fail_and_signs_do_not_cancel():
    good, bad = evaluation([pair(0.03), pair(-0.04)]), evaluation([pair(0.30), pair(-0.30)])
    assert line(good, "mean latency, other rate").verdict is Verdict.PASS
    assert line(bad, "mean latency, other rate").median == pytest.approx(0.30)
    assert line(bad, "mean latency, other rate").verdict is Verdict.FAIL
    assert bad.verdict is Verdict.FAIL
    assert "missed" in bad.document()["reasons"][0]


def test_a_few_bad_pairs_fail_by_their_ninth_decile():
    found = evaluation([pair(0.01) for _ in range(8)] + [pair(0.5), pair(0.5)])
    all_pairs = line(found, "mean latency, all pairs")
    assert all_pairs.median < 0.10
    assert all_pairs.verdict is Verdict.FAIL


def test_an_aim_is_related_to_noise_above_four_percent_and_says_so():
    quiet, loud = evaluation([pair(0.07)], noise=0.03), evaluation([pair(0.07)], noise=0.06)
    assert line(quiet, "mean latency, other rate").verdict is Verdict.FAIL
    assert line(loud, "mean latency, other rate").verdict is Verdict.PASS
    assert "6.0%" in line(loud, "mean latency, other rate").text


def test_without_pairs_nothing_is_decided():
    found = evaluation([])
    assert found.verdict is Verdict.UNKNOWN
    assert ErrorLine("x", 0, None, limit=0.1).verdict is Verdict.UNKNOWN


def test_intervals_that_hold_everything_or_too_little_are_wrong():
    hits = [pair(0.0, covered=(True,)) for _ in range(9)] + [pair(0.0, covered=(False,))]
    assert line(evaluation(hits), "coverage").verdict is Verdict.PASS
    assert line(evaluation([pair(0.0, covered=(True,))] * 10), "coverage").verdict is Verdict.FAIL
    assert line(evaluation([pair(0.0, covered=(False,))] * 10), "coverage").verdict is Verdict.FAIL


def test_a_model_that_overflows_counts_with_an_error_without_end():
    found = evaluation([pair(0.0)])
    assert found.baselines[-1].median == float("inf")
    json.dumps(found.document(), allow_nan=False)


def test_the_matrix_has_signed_errors_from_rows_to_columns():
    found = [("a", "b", 0.1), ("b", "a", -0.2), ("a", "a", 0.0), ("b", "b", None)]
    steps, rows = matrix(found)
    assert steps == ["a", "b"]
    assert rows == [["a", "+0.0 %", "+10.0 %"], ["b", "-20.0 %", ""]]


def test_other_keys_are_a_step_of_prototypes_alone_and_are_predicted_from_those_of_the_source(tmp_path):
    """The made-up query has the same spread whatever the keys are, so a prediction for other keys must differ."""
    file = tmp_path / "application.yaml"
    file.write_text(HASHED)
    steps = (Step("25%", 0.25), Step("25%, one key", 0.25, zipf=10.0))
    query = three_stages()
    spread = Keys((np.array(["a", "b"]),), np.array([0.5, 0.5])).shares(4)
    first, second, third = query.stages
    runs = ModelledRun(replace(query, stages=(first, replace(second, shares=tuple(spread)), third)))
    protocol = replace(SHORT, steps=steps, repetitions=1)
    found = follow(protocol, [str(file)], root=tmp_path / "runs", monitor=NoMonitor(), measure=runs)
    assert [call["parameters"] for call in runs.calls] == [{}, {}, {"zipf": 10.0}]
    assert [pair.case for pair in found.pairs] == ["itself", "other", "other", "itself"]
    assert found.pairs[1].error("latency_mean_s") > found.pairs[0].error("latency_mean_s") + 0.05
    assert found.pairs[1].rows > 0.5
    assert [step.name for step in protocol.of("ysb").steps] == ["25%"]


def test_the_plan_tells_the_time_before_anything_starts():
    assert quick_protocol().of("ysb").takes_s <= 720
    assert full_protocol().of("ysb").takes_s > 3600
    assert "7 runs" in plan_text(["ysb"], quick_protocol())
    with pytest.raises(UsageError):
        choose_protocol(quick=True, repeat=0)


def test_workloads_are_those_that_are_asked_for_or_the_usual_ones_in_any_folder(tmp_path, monkeypatch):
    assert evaluation_workloads(["ysb"], quick=False) == ("ysb",)
    assert evaluation_workloads([], quick=True) == ("nexmark-q5",)
    monkeypatch.chdir(tmp_path)
    usual = evaluation_workloads([], quick=False)
    assert "ysb" in usual
    assert [name for name in usual if is_prototype(name)] == [
        f"prototype:{name}" for name in ("all-in-one", "fields-to-fields", "join-split", "multiplier", "windowed")
    ]
    assert all(find_workload(name) for name in usual)


def test_a_workload_that_does_not_exist_is_refused_before_anything_is_stored(tmp_path):
    with pytest.raises(UsageError):
        evaluate(["ybs"], quick=True, runs=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_with_a_trigger_a_step_warms_up_for_as_many_micro_batches_as_java_needs():
    protocol = quick_protocol()
    warmups = {step.changes.get("trigger", 0.0): protocol.warmup_of(step) for step in protocol.steps}
    assert warmups == {0.0: 35.0, 1.0: 100.0}
    assert max(map(full_protocol().warmup_of, full_protocol().steps)) == 120.0


def test_partitions_are_no_step_of_prototypes_whose_file_decides_them(tmp_path):
    file = tmp_path / "application.yaml"
    file.write_text(HASHED)
    for_prototypes, for_others = (quick_protocol().of(name).steps for name in (str(file), "ysb"))
    assert not any("shuffle_partitions" in step.changes for step in for_prototypes)
    assert any("shuffle_partitions" in step.changes for step in for_others)
    assert [step.zipf for step in for_prototypes if step.zipf is not None] == [0.0]
