"""In which words a comparison is reported."""

import json
from dataclasses import replace

import pytest

from streamgauge.conclude.changes import MetricChange, times, verdict_of
from streamgauge.conclude.comparison import (
    Comparisons,
    compare_groups,
)
from streamgauge.measure.statistics import Rule
from streamgauge.metrics import METRIC
from streamgauge.store import open_set, resolve_groups


def change(ratio, low=None, high=None, *, name="processed_rate_per_s", decision="higher", better=True):
    is_significant = decision in ("higher", "lower")
    interval = (None if end is None else end - 1 for end in (low, high))
    return MetricChange(
        name, METRIC[name].title, 1.0, ratio, ratio - 1, *interval, is_significant, decision,
        better if is_significant else None, 0.01, 0.01, "",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("ratio", "low", "high", "text"),
    [
        (1.9, 1.81, 1.99, "1.90 ± 0.09"),
        (1.9, 1.7, 2.12, "1.9 ± 0.2"),
        (1.9, 1.79, 2.01, "1.90 ± 0.11"),
        (0.62, 0.572, 0.67, "0.62 ± 0.05"),
        (1.9, 1.2, 3.0, "between 1.2 and 3"),
        (1.05, 1.004, 1.096, "between 1.004 and 1.1"),
        (123.0, 101.0, 146.0, "120 ± 20"),
        (2.0, 2.0, 2.0, "2"),
        (2.0, None, None, "2"),
    ],
)
def test_a_ratio_is_written_with_its_interval(ratio, low, high, text):
    assert times(change(ratio, low, high)) == text


@pytest.mark.parametrize(
    ("decisions", "verdict"),
    [
        (["higher", "no change"], "better"),
        (["lower", "no change"], "worse"),
        (["higher", "lower", "undecided"], "mixed"),
        (["no change", "no change"], "no change"),
        (["no change", "undecided"], "undecided"),
        (["higher", "undecided"], "better"),
    ],
)
def test_the_verdict_follows_from_what_moved(decisions, verdict):
    assert verdict_of([change(1.0, decision=d, better=d == "higher") for d in decisions]) == verdict


def test_the_worst_pair_decides_the_exit_code(shelf):
    (one,) = shelf.compare(shelf.one(), shelf.one()).comparisons
    for verdicts, code in ((("better", "no change"), 0), (("better", "undecided"), 7), (("undecided", "mixed"), 6)):
        found = Comparisons(tuple(replace(one, verdict=v) for v in verdicts), Rule())
        assert found.exit_code == code


def test_the_document_has_the_keys_that_scripts_use(shelf):
    document = shelf.compare(shelf.several(2), shelf.several(2)).document()
    again = json.loads(json.dumps(document, allow_nan=False))
    (pair,) = again["comparisons"]
    assert again["metrics"] == pair["metrics"]
    assert {"a", "b", "verdict", "runs", "words", "metrics", "differences", "warnings"} <= set(pair)
    for metric in again["metrics"]:
        assert set(metric) == {
            "name", "a", "b", "change", "low", "high", "significant", "decision", "better", "p", "adjusted_p", "reason",
        }  # fmt: skip
        assert metric["change"] == pytest.approx(metric["b"] / metric["a"] - 1)


def test_two_groups_can_be_compared_under_other_names(repeated):
    sides = (repeated.plain[:6], repeated.slow[:6])
    (a,), (b,) = (resolve_groups(repeated.shelf.root, ",".join(side)) for side in sides)
    comparison = compare_groups(a, b, labels=("the baseline", "this suite"))
    assert "the mean of the end-to-end latency of this suite is 1.2" in comparison.words[0]
    assert "that of the baseline (worse)" in " ".join(comparison.words)


def test_a_set_that_was_written_stays_as_it_is(shelf):
    set_id = shelf.set_of([("ysb", shelf.one()), ("ysb", shelf.one())])
    before = open_set(shelf.root, set_id).path.read_bytes()
    shelf.compare(set_id, shelf.one())
    assert open_set(shelf.root, set_id).path.read_bytes() == before
