"""From a matrix to single runs: which, in what order, under which names and keys, and for how long."""

import pytest

from streamgauge.suite import Suite, read_suite


def suite(body: str) -> Suite:
    return read_suite(f"streamgauge: 1\nname: some\n{body}", name="some.yaml")


def keys(body: str) -> list[str]:
    return [run.key for run in suite(body).runs()]


def test_a_matrix_gives_every_combination_of_every_workload():
    read = suite(
        "runs:\n"
        "  - workload: [ysb, nexmark-q1]\n"
        "    matrix: {rate: [10k, 50k], cores: [1, 2], conf.spark.sql.ansi.enabled: [true, false]}\n"
    )
    combinations = {
        (c.workload, c.settings["rate"], c.settings["cores"], c.settings["conf"]["spark.sql.ansi.enabled"])
        for c in read.configurations
    }
    assert len(combinations) == len(read.configurations) == read.size == 16


def test_repetitions_are_interleaved():
    read = suite(
        "runs:\n"
        "  - {workload: ysb, matrix: {cores: [1, 2]}, repetitions: 3}\n"
        "  - {workload: nexmark-q1}\n"
        "  - {workload: nexmark-q2, repetitions: 2}\n"
    )
    assert [run.name for run in read.runs()] == [
        *("ysb[cores=1]#1", "ysb[cores=2]#1", "nexmark-q1", "nexmark-q2#1"),
        *("ysb[cores=1]#2", "ysb[cores=2]#2", "nexmark-q2#2"),
        *("ysb[cores=1]#3", "ysb[cores=2]#3"),
    ]
    assert read.size == 9


def test_names_and_keys_are_all_different():
    read = suite(
        "runs:\n"
        "  - {workload: ysb, matrix: {rate: [10k, 20k], set.campaigns: [1, 2]}, repetitions: 2}\n"
        "  - {workload: ysb, arrivals: poisson}\n"
        "  - {workload: ysb, conf: {spark.a: 1}}\n"
        "  - {workload: ysb, conf: {spark.a: 2}}\n"
        "  - {workload: ysb, seed: 2}\n"
    )
    runs = read.runs()
    assert len({run.name for run in runs}) == len({run.key for run in runs}) == 12


def test_a_name_does_not_depend_on_the_order_of_the_file():
    one = suite("runs: [{workload: ysb, rate: 1k, set: {campaigns: 2}, cores: 1, matrix: {trigger: [1 s]}}]")
    two = suite("runs: [{matrix: {trigger: [1 s]}, cores: 1, set: {campaigns: 2}, workload: ysb, rate: 1k}]")
    assert one.runs()[0].name == two.runs()[0].name == "ysb[rate=1k,trigger=1 s,cores=1,set.campaigns=2]"


def test_a_key_is_the_same_for_the_same_settings_however_they_are_written():
    short = "runs: [{workload: ysb, rate: 10k, duration: 1 min}]"
    long = "defaults: {rate: 10000}\nruns: [{matrix: {duration: [60 s]}, workload: [ysb], thresholds: [batches > 1]}]"
    assert keys(short) == keys(long)


def test_a_key_does_not_change_from_version_to_version():
    assert keys("runs: [{workload: ysb, rate: 10k, set: {campaigns: 10}}]") == ["8ac9f5a56d35aa01"]


@pytest.mark.parametrize(
    "change", ["rate: 11k", "set: {campaigns: 11}", "conf: {spark.a: 1}", "seed: 2", "verify: false", "cores: 1"]
)
def test_a_key_changes_with_every_setting(change):
    base = {"rate": "10k", "set": "{campaigns: 10}"}
    name, _, value = change.partition(": ")
    changed = ", ".join(f"{key}: {text}" for key, text in (base | {name: value}).items())
    before = ", ".join(f"{key}: {text}" for key, text in base.items())
    assert keys(f"runs: [{{workload: ysb, {before}}}]") != keys(f"runs: [{{workload: ysb, {changed}}}]")


def test_repetitions_that_are_added_leave_the_first_keys_as_they_are():
    assert keys("runs: [{workload: ysb, repetitions: 5}]")[:2] == keys("runs: [{workload: ysb, repetitions: 2}]")


def test_more_than_two_hundred_runs_need_a_confirmation():
    assert not suite("runs: [{workload: ysb, repetitions: 200}]").needs_confirmation
    assert suite("runs: [{workload: ysb, repetitions: 201}]").needs_confirmation


def test_the_planned_time_is_that_of_all_loads_and_of_what_comes_before_them():
    assert suite("runs: [{workload: ysb}]").expected_s == 30 + 10 + 35
    assert suite("runs: [{workload: ysb, duration: 1 min, warmup: 0, repetitions: 3}]").expected_s == 3 * (60 + 35)
    assert suite("runs: [{workload: ysb, load: online}]").expected_s == 2 * (30 + 10) + 35
