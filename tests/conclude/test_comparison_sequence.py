"""In which sequence compared runs were made."""

import math
from dataclasses import replace

import numpy as np
import pytest

from made_runs.samples import evidence
from made_runs.shelf import later, slower
from streamgauge.conclude.comparison import (
    _Pair,
    _sequence_notes,
)
from streamgauge.store import resolve_groups
from streamgauge.store.sequence import sequence_of


def named(found):
    """Return the metrics of the only pair by their names."""
    (comparison,) = found.comparisons
    return {metric.name: metric for metric in comparison.metrics}


def made(shelf, starts_s, factors):
    """Store runs that begin at these seconds and take `factors` times as long."""
    runs = zip(starts_s, factors, strict=True)
    return ",".join(shelf.store(later(slower(evidence(), factor), start_s)) for start_s, factor in runs)


@pytest.mark.parametrize(("b_first", "words"), [(False, "of A were made before those of B"), (True, "of B were made")])
def test_sets_made_one_after_the_other_decide_nothing_and_say_what_to_do(shelf, b_first, words):
    early, late = range(0, 400, 100), range(400, 800, 100)
    starts = (late, early) if b_first else (early, late)
    sides = [made(shelf, s, f * np.array([0.99, 1.0, 1.01, 1.0])) for s, f in zip(starts, (1.0, 1.6), strict=True)]
    found = shelf.compare(*sides)
    assert (found.verdict, found.exit_code) == ("undecided", 7)
    (comparison,) = found.comparisons
    (told,) = comparison.words
    assert words in told
    assert "repetitions: 5" in told
    assert comparison.sequence == comparison.document()["sequence"] == "sequential"
    durations = named(found)["batch_duration_s.mean"]
    assert (durations.significant, durations.decision, durations.better) == (True, "undecided", None)
    allowed = shelf.compare(*sides, drift="20%")
    assert allowed.verdict == "worse"
    assert allowed.comparisons[0].words[-1].endswith("a drift of 20 % is allowed for")


def test_sets_made_one_after_the_other_are_not_called_unchanged_either(shelf):
    factors = ([0.99, 1.0, 1.01, 1.0], [0.99, 1.0, 1.01, 1.01])
    sides = [made(shelf, range(start, start + 400, 100), f) for start, f in zip((0, 400), factors, strict=True)]
    assert shelf.compare(*sides).verdict == "undecided"
    (allowed,) = shelf.compare(*sides, drift="2%").comparisons
    assert allowed.verdict == "no change"
    largest = max(metric.largest_change for metric in allowed.metrics)
    assert f"none larger than {100 * (1.02 * (1 + largest) - 1):.2g} %" in allowed.words[0]


def test_sets_made_in_turns_decide(shelf):
    sides = [
        made(shelf, range(start, 800, 200), f * np.array([0.99, 1.0, 1.01, 1.0])) for start, f in ((0, 1.0), (100, 1.6))
    ]
    found = shelf.compare(*sides)
    assert (found.verdict, found.comparisons[0].sequence) == ("worse", "interleaved")
    assert not any("before" in text for text in found.comparisons[0].warnings)


@pytest.mark.parametrize("load", [None, {}, {"origin_us": None}, {"origin_us": "now"}])
def test_runs_that_do_not_say_when_they_began_have_an_unknown_sequence(shelf, load):
    a, b = shelf.open(shelf.one()), shelf.open(shelf.one())
    assert sequence_of([a], [b]) == "interleaved"
    a.document["load"] = load
    assert sequence_of([a], [b]) == sequence_of([b], [a]) == "unknown"
    pair = _Pair(resolve_groups(shelf.root, "latest")[0], resolve_groups(shelf.root, "latest")[0], ("A", "B"))
    (note,) = _sequence_notes(replace(pair, sequence="unknown"), math.inf)
    assert note.endswith("whether A and B took turns is unknown")
