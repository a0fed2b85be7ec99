"""Contended runs are re-run, twice at most, and the least contended one counts."""

from pathlib import Path

import pytest

from streamgauge.experiments.quiet_runs import contention_level, contention_reasons, is_contended, least_contended
from streamgauge.running.lifecycle import Run


def summary(level, *, slowdown=1.05, reasons=()):
    return {"resources": {"slowdown": slowdown}, "machine": {"level": level, "reasons": list(reasons)}}


@pytest.mark.parametrize(("level", "expected"), [(0.4, False), (1.0, False), (1.01, True), (9.5, True)])
def test_a_run_is_contended_above_the_limit_of_any_witness(level, expected):
    assert is_contended(summary(level)) is expected


@pytest.mark.parametrize(("slowdown", "expected"), [(1.1, False), (1.2, False), (1.3, True)])
def test_runs_of_earlier_versions_are_judged_by_their_slowdown(slowdown, expected):
    old = {"resources": {"slowdown": slowdown}}
    assert is_contended(old) is expected
    assert bool(contention_reasons(old)) is expected


def test_a_run_without_any_numbers_is_taken_as_quiet():
    assert not is_contended({})
    assert not is_contended({"resources": None, "machine": None})
    assert contention_reasons({}) == ()


def test_the_reasons_are_those_of_the_run():
    assert contention_reasons(summary(9.5, reasons=["other processes used 1.9 of 2 cores"])) == (
        "other processes used 1.9 of 2 cores",
    )


@pytest.mark.parametrize(
    ("levels", "made", "kept"), [([0.95], 1, 0.95), ([3.0, 0.9], 2, 0.9), ([3.0, 2.0, 4.0, 0.1], 3, 2.0)]
)
def test_a_contended_run_is_re_run_twice_at_most_and_the_least_contended_is_kept(levels, made, kept):
    calls = []

    def make():
        calls.append(len(calls))
        return Run(f"run{len(calls)}", Path(), summary(levels[len(calls) - 1]))

    found = least_contended(make)
    assert (len(calls), contention_level(found.summary)) == (made, kept)
