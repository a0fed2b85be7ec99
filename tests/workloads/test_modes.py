"""Which workload can run in which execution mode."""

import pytest

from streamgauge.lookup import find_workload
from streamgauge.workloads import catalogue
from streamgauge.workloads.modes import MODES, possible_modes, refusal
from streamgauge.workloads.ysb.ysb import YsbParameters

REAL_TIME = {
    "ysb", "hibench-identity", "hibench-repartition", "hibench-wordcount", "nexmark-q0", "nexmark-q2",
    "streambench-wordcount", "operator-map", "operator-filter", "operator-filtermap", "operator-reduce",
    "operator-rolling-count",
}  # fmt: skip
CONTINUOUS = {"hibench-identity", "nexmark-q0", "nexmark-q2", "operator-map", "operator-filter", "operator-filtermap"}
STATELESS = {f"nexmark-q{n}" for n in (0, 1, 2, 13, 14, 21, 22)} | CONTINUOUS | {"hibench-repartition"}


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("micro-batch", set(catalogue())),
        ("micro-batch-async", STATELESS),
        ("real-time", REAL_TIME),
        ("continuous", CONTINUOUS),
    ],
)
def test_these_workloads_and_no_others_run_in_a_mode(mode, expected):
    assert {name for name, workload in catalogue().items() if possible_modes(workload)[mode] is None} == expected


def test_every_mode_of_every_workload_is_possible_or_has_a_reason():
    for workload in catalogue().values():
        modes = possible_modes(workload)
        assert tuple(modes) == MODES
        assert all(reason is None or len(reason) > 20 for reason in modes.values())


@pytest.mark.parametrize(
    ("name", "mode", "reason"),
    [
        ("nexmark-q3", "real-time", "joins two streams"),
        ("operator-join-left", "real-time", "joins two streams"),
        ("operator-partition", "real-time", "state in Python"),
        ("hibench-fixwindow", "real-time", "only final results"),
        ("nexmark-q12", "real-time", "processing time"),
        ("nexmark-q10", "real-time", "writes files"),
        ("nexmark-q22", "real-time", "do not carry the times"),
        ("streambench-kmeans", "micro-batch-async", "iterative"),
        ("ysb", "micro-batch-async", "has state"),
        ("ysb", "continuous", "has state"),
        ("nexmark-q13", "continuous", "joins with a table"),
        ("hibench-repartition", "continuous", "shuffles"),
    ],
)
def test_the_reason_names_what_is_in_the_way(name, mode, reason):
    workload = find_workload(name)
    assert reason in str(refusal(workload, workload.parameters(), mode))


def test_a_parameter_can_make_a_mode_impossible():
    ysb = find_workload("ysb")
    assert refusal(ysb, YsbParameters(), "real-time") is None
    assert "only final results" in str(refusal(ysb, YsbParameters(output="append"), "real-time"))
