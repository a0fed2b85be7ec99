"""Thresholds: how they are read, and that what is not known never passes."""

import ast
import math
import operator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamgauge.metrics import METRIC
from streamgauge.suite.thresholds import Misreading, read_threshold
from streamgauge.verdict import Verdict

SUMMARY = {
    "offered_rate_per_s": 1000.0,
    "processed_rate_per_s": 990.0,
    "offline_rate_per_s": None,
    "end_to_end_latency_s": {"count": 100, "mean": 0.5, "p95": 1.5, "p99": None},
    "window_latency_s": None,
    "events_unprocessed": 0,
    "batches": 17,
    "non_functional_share": 0.3,
    "state": {"bytes_max": 2 * 1024**2},
}


def verdict(text: str) -> str:
    return read_threshold(text).evaluate(SUMMARY).verdict.value


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("batches < 17", "fail"),
        ("batches <= 17", "pass"),
        ("batches > 17", "fail"),
        ("batches >= 17", "pass"),
        ("batches == 17", "pass"),
        ("batches == 18", "fail"),
        ("end_to_end_latency_s.p95 < 2", "pass"),
        ("end_to_end_latency_s.p95<1500ms", "fail"),
        ("end_to_end_latency_s.p95 <= 1.5 s", "pass"),
        ("end_to_end_latency_s.p95 < 0.03min", "pass"),
        ("end_to_end_latency_s.p95 > 1_400_000 us", "pass"),
        ("processed_rate_per_s > 0.98 * offered_rate_per_s", "pass"),
        ("processed_rate_per_s > 99.5% * offered_rate_per_s", "fail"),
        ("processed_rate_per_s < 1k", "pass"),
        ("processed_rate_per_s < 1k/s", "pass"),
        ("processed_rate_per_s < 989/s", "fail"),
        ("non_functional_share < 30%", "fail"),
        ("state.bytes_max == 2 MiB", "pass"),
        ("batches == 2 + 3 * 5", "pass"),
        ("batches == (2 + 3) * 5", "fail"),
        ("batches == 20 - 2 - 1", "pass"),
        ("batches == 68 / 2 / 2", "pass"),
        ("batches > -3", "pass"),
        ("batches == - - 17", "pass"),
        ("batches > 10 s * offered_rate_per_s / 1000", "pass"),
    ],
)
def test_a_threshold_compares_as_arithmetic_says(text, expected):
    assert verdict(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "end_to_end_latency_s.p99 < 2",
        "end_to_end_latency_s.p99 > 2",
        "end_to_end_latency_s.p50 < 2",
        "window_latency_s.p95 < 100 h",
        "offline_rate_per_s == 0",
        "batches > offline_rate_per_s",
        "batches > 0 * offline_rate_per_s",
        "batches > 1 / events_unprocessed",
        "batches < 1e300 * 1e300",
        "core_use.used < 3",
    ],
)
def test_what_is_missing_or_not_finite_is_unknown_and_never_a_pass(text):
    judgement = read_threshold(text).evaluate(SUMMARY)
    assert judgement.verdict is Verdict.UNKNOWN
    assert "is not known" in judgement.text


@pytest.mark.parametrize("value", [None, math.nan, math.inf, -math.inf, True, "7", [7], {}])
def test_a_value_that_is_no_number_is_unknown(value):
    for comparison in ("<", "<=", ">", ">=", "=="):
        judged = read_threshold(f"batches {comparison} 7").evaluate({"batches": value})
        assert judged.verdict is Verdict.UNKNOWN


@pytest.mark.parametrize("path", METRIC)
def test_an_empty_summary_says_nothing_about_any_metric(path):
    assert read_threshold(f"{path} >= 0").evaluate({}).verdict is Verdict.UNKNOWN


def test_a_judgement_shows_both_sides_in_their_unit():
    judgement = read_threshold("end_to_end_latency_s.p95 < 200 ms + 1 s").evaluate(SUMMARY)
    assert (judgement.left, judgement.right) == (1.5, 1.2)
    assert judgement.text == "end_to_end_latency_s.p95 is 1.5 s, but required < 1.2 s"


def test_two_sides_that_look_alike_are_shown_in_full():
    judgement = read_threshold("batches < 20000.1").evaluate({"batches": 20000.2})
    assert judgement.text == "batches is 20000.2, but required < 20000.1"


@pytest.mark.parametrize(
    ("text", "what", "marked"),
    [
        ("", "begins with a metric", ""),
        ("2 < batches", "begins with a metric", "2"),
        ("batches", "a comparison belongs here", ""),
        ("batches = 3", "a comparison belongs here", "="),
        ("batches != 3", "a comparison belongs here", "!"),
        ("batches + 1 > 3", "a comparison belongs here", "+"),
        ("batches <", "a number or a metric belongs here", ""),
        ("batches < 3 < 4", "should end here", "<"),
        ("batches < 3 batches", '"batches" is not a unit', "batches"),
        ("batches < 5 sek", '"sek" is not a unit', "sek"),
        ("batches < (3", "a parenthesis is open", ""),
        ("batches < 3)", "should end here", ")"),
        ("batches < 1e999", "too large", "1e999"),
        ("batches < " + "(" * 30 + "3" + ")" * 30, "nested too deeply", "("),
        ("batches < " + "-" * 300 + "3", "nested too deeply", "-"),
        ("batchez < 3", 'no metric "batchez"', "batchez"),
        ("batches < batch_duration_s.p99", 'no metric "batch_duration_s.p99"', "batch_duration_s.p99"),
        ("verdict == 1", 'no metric "verdict"', "verdict"),
        ("processed_rate_per_s > 200 ms", "per second and seconds cannot be compared", ">"),
        ("state.bytes_max < 1 s + 2", "bytes and seconds cannot be compared", "<"),
        ("batches < 2 s + 3 MiB", "seconds and bytes cannot be added", "+"),
        ("batches < 3; import os", "should end here", ";"),
    ],
)
def test_what_is_no_threshold_is_refused_at_the_right_characters(text, what, marked):
    with pytest.raises(Misreading, match=what.replace("(", r"\(")) as caught:
        read_threshold(text)
    assert text[caught.value.start : caught.value.end] == marked
    assert caught.value.remedy


def test_a_misspelled_metric_gets_the_closest_one_and_a_group_gets_its_members():
    remedies = {}
    for name in ("procesed_rate_per_s", "end_to_end_latency_s", "stages.skew", "xyzzy"):
        with pytest.raises(Misreading) as caught:
            read_threshold(f"{name} < 1")
        remedies[name] = caught.value.remedy
    assert remedies["procesed_rate_per_s"] == "did you mean `processed_rate_per_s`?"
    assert "p50, p90, p95, p99, max" in remedies["end_to_end_latency_s"]
    assert "median, max" in remedies["stages.skew"]
    assert "known names: answer, back_pressure, backlog_events" in remedies["xyzzy"]


NUMBERS = st.integers(1, 50).map(str)
ARITHMETIC = st.recursive(
    NUMBERS,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from("+-*/"), inner).map(" ".join),
        inner.map(lambda text: f"({text})"),
        inner.map(lambda text: f"-({text})"),
    ),
    max_leaves=8,
)
OPERATORS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv}


def as_python_computes(node: ast.AST) -> float:
    if isinstance(node, ast.BinOp):
        return OPERATORS[type(node.op)](as_python_computes(node.left), as_python_computes(node.right))
    if isinstance(node, ast.UnaryOp):
        return -as_python_computes(node.operand)
    assert isinstance(node, ast.Constant)
    return float(node.value)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(ARITHMETIC)
def test_arithmetic_is_that_of_python(text):
    try:
        expected = as_python_computes(ast.parse(text, mode="eval").body)
    except ZeroDivisionError:
        expected = None
    judgement = read_threshold(f"batches < {text}").evaluate({"batches": 1})
    assert judgement.right == (None if expected is None else pytest.approx(expected))


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.text(alphabet="batches.p95 <>=+-*/()0123456789eskM%_µ\t\n", max_size=40))
def test_any_text_is_read_or_refused_inside_its_bounds(text):
    try:
        read_threshold(text)
    except Misreading as misreading:
        assert 0 <= misreading.start <= len(text)
