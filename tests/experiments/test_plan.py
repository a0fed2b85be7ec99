import pytest

from streamgauge.errors import InvalidExperimentError, UsageError
from streamgauge.experiments.plan import make_plan


def test_a_plan_counts_the_events_and_the_time_of_a_run():
    plan = make_plan("ysb", rate="10k", duration="20s", warmup="5s", drain="7s", cores=2, runs="there")
    assert plan["events"] == 250_000
    assert plan["events_measured"] == 200_000
    assert plan["longest_duration_s"] - plan["expected_duration_s"] == 7.0
    assert plan["expected_duration_s"] > 25.0
    assert (plan["cores"], plan["source_partitions"], plan["shuffle_partitions"]) == (2, 2, 2)
    assert plan["output_mode"] == "update"
    assert plan["runs"] == "there"


def test_a_plan_shows_the_parameters_and_what_the_user_set():
    plan = make_plan("ysb", parameters={"campaigns": "7"}, shuffle_partitions=5, source_partitions=3, cores=2)
    assert plan["parameters"]["campaigns"] == 7
    assert plan["parameters"]["ads_per_campaign"] == 10
    assert (plan["source_partitions"], plan["shuffle_partitions"]) == (3, 5)


def test_without_a_warm_up_every_event_is_measured():
    plan = make_plan("hibench-identity", rate=1000, duration="10s", warmup="0s")
    assert plan["events"] == plan["events_measured"] == 10_000


def test_on_a_cluster_the_cores_are_not_known_yet():
    plan = make_plan("ysb", master="spark://host:7077")
    assert plan["cores"] is None
    assert plan["source_partitions"] is None


def test_secrets_do_not_appear_in_a_plan(monkeypatch):
    monkeypatch.setenv("MY_SECRET", "hunter2")
    plan = make_plan("ysb", conf={"spark.my.password": "env:MY_SECRET"})
    assert "hunter2" not in str(plan)


def test_the_place_of_runs_comes_from_the_environment(monkeypatch):
    monkeypatch.setenv("STREAMGAUGE_RUNS", "/data/runs")
    assert make_plan("ysb")["runs"] == "/data/runs"


def test_a_catalogue_workload_has_its_own_events():
    with pytest.raises(UsageError, match="has its own events") as caught:
        make_plan("ysb", events="hibench")
    assert caught.value.where == "--events"


def test_a_function_of_the_user_can_be_planned(tmp_path):
    (tmp_path / "mine.py").write_text("def build(df):\n    return df\n")
    plan = make_plan(f"{tmp_path}/mine.py:build", events="hibench", parameters={"keys": 5})
    assert plan["settings"]["events"] == "hibench", "which events the function reads is stored with the run"
    assert make_plan(f"{tmp_path}/mine.py:build")["settings"]["events"] == "ysb"
    assert make_plan("ysb")["settings"]["events"] is None
    assert plan["parameters"]["keys"] == 5
    assert plan["output_mode"] is None


def test_mistakes_are_found_before_anything_starts():
    with pytest.raises(UsageError):
        make_plan("ybs")
    with pytest.raises(InvalidExperimentError):
        make_plan("ysb", parameters={"campaigns": 0})
    with pytest.raises(UsageError):
        make_plan("ysb", rate="x")


def test_the_time_of_an_offline_load_is_not_known_but_bounded():
    chosen = {"rate": "10k", "duration": "20s", "warmup": "5s", "drain": "7s"}
    plan = make_plan("ysb", load="offline", **chosen)
    assert (plan["events"], plan["expected_duration_s"]) == (250_000, None)
    both = make_plan("ysb", load="online", **chosen)
    assert both["expected_duration_s"] is None
    assert both["longest_duration_s"] - plan["longest_duration_s"] == 25.0 + 7.0
