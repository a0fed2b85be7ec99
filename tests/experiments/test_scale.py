import pytest

from made_runs.stored_runs import store_summary
from streamgauge.errors import UsageError
from streamgauge.experiments.scale import _sizes, conclude, parse_counts, scale, usual_cores
from streamgauge.suite import Configuration, RunResult
from streamgauge.suite.matrix import interleave
from streamgauge.verdict import Verdict


def planned(cores, *, partitions=(None,), repeat=1):
    return list(
        interleave(
            Configuration(
                f"ysb[cores={n},{p}]",
                "ysb",
                {"cores": n} | ({} if p is None else {"shuffle_partitions": p}),
                {},
                (),
                repeat,
            )
            for n in cores
            for p in partitions
        )
    )


@pytest.fixture
def store(tmp_path):
    """Store a run that reached a rate, and return its result."""

    def one(run, rate_per_s, verdict=Verdict.PASS):
        summary = {"verdict": verdict.value, "reasons": [], "processed_rate_per_s": rate_per_s}
        reasons = () if verdict is Verdict.PASS else ("it went wrong",)
        return RunResult(run.name, "ysb", verdict, reasons, run_id=store_summary(tmp_path, summary).run_id)

    return one


def concluded(runs, results, root, available=8):
    return conclude("set", "ysb", runs, results, root, available)


def test_speed_up_and_efficiency_are_against_the_fewest_cores(store, tmp_path):
    runs = planned([1, 2, 4])
    found = concluded(runs, [store(r, x) for r, x in zip(runs, (100.0, 180.0, 300.0), strict=True)], tmp_path)
    assert [c.speed_up for c in found.capacities] == pytest.approx([1.0, 1.8, 3.0])
    assert [c.efficiency for c in found.capacities] == pytest.approx([1.0, 0.9, 0.75])
    assert found.verdict is Verdict.PASS


def test_the_law_of_exact_results_is_found(store, tmp_path):
    runs = planned([1, 2, 4, 8])
    rates = [100 * n / (1 + 0.05 * (n - 1) + 0.01 * n * (n - 1)) for n in (1, 2, 4, 8)]
    law = concluded(runs, [store(r, x) for r, x in zip(runs, rates, strict=True)], tmp_path).law
    assert (law.contention, law.coherence) == (pytest.approx(0.05, rel=1e-3), pytest.approx(0.01, rel=1e-3))


def test_repetitions_give_an_interval_around_their_mean(store, tmp_path):
    runs = planned([1, 2], repeat=3)
    rates = {1: iter((90.0, 100.0, 110.0)), 2: iter((190.0, 200.0, 210.0))}
    results = [store(run, next(rates[run.configuration.settings["cores"]])) for run in runs]
    first, second = concluded(runs, results, tmp_path).capacities
    assert (first.runs, first.rate_per_s) == (3, pytest.approx(100.0))
    assert first.low_per_s < 100 < first.high_per_s
    assert second.rate_per_s - second.low_per_s == pytest.approx(second.high_per_s - second.rate_per_s)


def test_the_law_takes_the_best_partitions_of_every_core_count(store, tmp_path):
    runs = planned([1, 2], partitions=(1, 4))
    rates = {(1, 1): 100.0, (1, 4): 50.0, (2, 1): 110.0, (2, 4): 180.0}
    results = [
        store(r, rates[r.configuration.settings["cores"], r.configuration.settings["shuffle_partitions"]]) for r in runs
    ]
    found = concluded(runs, results, tmp_path)
    assert len(found.capacities) == 4
    assert found.law.throughput_at(2) == pytest.approx(180.0, rel=1e-3)


def test_a_run_that_broke_makes_the_answer_unknown_and_the_others_still_count(store, tmp_path):
    runs = planned([1, 2])
    broken = RunResult(runs[1].name, "ysb", Verdict.UNKNOWN, ("Spark ended",))
    found = concluded(runs, [store(runs[0], 100.0), broken], tmp_path)
    assert found.verdict is Verdict.UNKNOWN
    assert found.reasons == ("Spark ended",)
    assert [c.cores for c in found.capacities] == [1]


def test_more_threads_than_cores_are_remarked_upon(store, tmp_path):
    runs = planned([1, 4])
    found = concluded(runs, [store(r, 100.0) for r in runs], tmp_path, available=2)
    assert "4 threads share 2 cores" in found.warnings[0]


@pytest.mark.parametrize("text", ["", "two", "1,,2", "0,1", "1,5000"])
def test_what_is_no_list_of_core_counts_is_refused(text):
    with pytest.raises(UsageError) as caught:
        parse_counts(text, where="--cores", most=1024)
    assert caught.value.where == "--cores"


def test_usual_core_counts_double_up_to_all():
    assert [usual_cores(n) for n in (1, 2, 3, 8)] == [[1], [1, 2], [1, 2, 3], [1, 2, 4, 8]]


def test_a_wrong_setting_is_refused_before_anything_is_stored(tmp_path):
    with pytest.raises(UsageError):
        scale("ysb", cores="1,2", repeat=0, runs=tmp_path)
    with pytest.raises(UsageError):
        scale("ybs", cores="1,2", runs=tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"workers": "1,2"}, "--master"),
        ({"master": "spark://host:7077"}, "--workers"),
        ({"workers": "1,2", "master": "spark://host:7077", "cores": "1"}, "exclude"),
        ({"workers": "0", "master": "spark://host:7077"}, "cannot use 0"),
    ],
)
def test_workers_belong_to_a_cluster(tmp_path, options, said):
    with pytest.raises(UsageError) as caught:
        scale("ysb", runs=tmp_path / "runs", **options)
    assert said in str(caught.value)
    assert not (tmp_path / "runs").exists()


def test_workers_are_asked_for_as_executors_of_equal_size():
    sizes = _sizes(None, "2,1", "spark://host:7077", {"spark.executor.cores": "4", "spark.x": "y"})
    assert [cores for cores, _ in sizes] == [4, 8]
    conf = sizes[1][1]["conf"]
    assert (conf["spark.executor.instances"], conf["spark.executor.cores"], conf["spark.cores.max"]) == ("2", "4", "8")
    assert conf["spark.x"] == "y"
