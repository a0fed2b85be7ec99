import pytest

from made_runs.modelled_runs import ModelledRun

KEYS = {"mean", "p50", "p95", "low", "high"}


@pytest.fixture
def run(tmp_path):
    return ModelledRun().store(tmp_path / "runs", "ysb", rate=100_000.0)


def test_one_prediction_has_the_keys_that_scripts_use(call, run):
    found = call("predict", run.run_id, "--rate", "150k", "--trigger", "2s", "--json")
    document = found.document
    assert found.code == 0
    assert set(document["predicted"]["end_to_end_latency_s"]) >= KEYS
    assert document["predicted"]["stable"] is True
    assert document["predicted"]["processed_rate_per_s"] == pytest.approx(150_000, rel=0.02)
    assert document["predicted"]["batch_duration_s"] > 0
    assert document["calibrated_from"] == [run.run_id]
    assert (document["settings"]["rate_per_s"], document["settings"]["trigger_s"]) == (150_000.0, 2.0)


def test_one_prediction_is_told_in_words_with_intervals_and_the_bottleneck(call, run):
    found = call("predict", run.run_id)
    assert found.code == 0
    for word in ("STABLE", "latency p95", " to ", "bottleneck", "sustainable rate", run.run_id):
        assert word in found.out


def test_a_sweep_is_a_table_and_a_curve_with_the_limit_marked(call, run):
    found = call("predict", run.run_id, "--sweep", "rate=50k:5M:8")
    assert found.code == 0
    assert "not sustained" in found.out
    assert found.out.count("●") >= 5
    assert "┊" in found.out
    assert "the limit ┊ is" in found.out
    assert "outside of what was measured" in found.out


def test_a_sweep_as_json_has_a_prediction_for_every_rate(call, run):
    document = call("predict", run.run_id, "--sweep", "rate=50k:100k:3", "--json").document
    assert [one["settings"]["rate_per_s"] for one in document["predictions"]] == [50_000.0, 75_000.0, 100_000.0]
    assert document["varied"] == ["rate_per_s"]


def test_a_page_is_written_that_needs_no_other_file(call, run, tmp_path):
    found = call("predict", run.run_id, "--sweep", "rate=50k:5M:6", "--output", "p.html")
    assert found.code == 0
    assert "wrote p.html" in found.out
    text = (tmp_path / "p.html").read_text()
    assert "Latency against load" in text
    assert "limit " in text
    assert "http://" not in text
    one = call("predict", run.run_id, "--output", "one.html")
    assert one.code == 0
    assert "sustainable rate" in (tmp_path / "one.html").read_text()


def test_too_little_data_ends_with_seven_and_says_what_is_missing(call, tmp_path):
    run = ModelledRun().store(tmp_path / "runs", "ysb", with_tasks=False)
    told = call("predict", run.run_id)
    assert told.code == 7
    assert "has no tasks" in told.err
    assert "model calibrate ysb" in told.err
    document = call("predict", run.run_id, "--json").document
    assert (document["verdict"], document["predicted"]) == ("unknown", None)
    assert "has no tasks" in document["reasons"][0]


@pytest.mark.parametrize(
    ("options", "word"),
    [
        (("--cores", "0"), "0 cores"),
        (("--sweep", "rate=9:1"), "no rates between its ends"),
        (("--sweep", "rate=1k:9k", "--rate", "5k"), "exclude each other"),
        (("--output", "p.pdf"), "is not an HTML file"),
        (("--trigger", "soon"), "not a duration"),
    ],
)
def test_wrong_options_end_with_two(call, run, options, word):
    found = call("predict", run.run_id, *options)
    assert found.code == 2
    assert word in found.err


def test_mixed_queries_end_with_three_and_name_the_runs(call, run, tmp_path):
    other = ModelledRun().store(tmp_path / "runs", "nexmark-q1")
    found = call("predict", run.run_id, other.run_id)
    assert found.code == 3
    assert run.run_id in found.err
    assert other.run_id in found.err


def test_a_run_that_is_not_there_ends_with_two(call, run):
    assert call("predict", "nothing").code == 2


def test_the_plan_of_an_evaluation_starts_nothing(call, tmp_path):
    found = call("model", "evaluate", "ysb", "--quick", "--plan", "--json")
    assert found.code == 0
    assert found.document["runs"] == 7
    assert found.document["expected_duration_s"] <= 720
    assert not (tmp_path / "runs").exists()
    assert "about" in call("model", "evaluate", "--plan").out
    assert call("model", "evaluate", "ybs", "--quick").code == 2
    assert call("model", "calibrate", "ybs").code == 2
