import pytest

from streamgauge.errors import UsageError
from streamgauge.experiment.settings import parse_settings
from streamgauge.experiment.summary import summarise
from streamgauge.experiment.sustain import LatencyLimit, capacity_of, judge_probe, parse_latency_limit
from streamgauge.verdict import Verdict

from .samples import evidence


def test_a_probe_passes_when_its_run_does():
    assert judge_probe(summarise(evidence()), None) == (Verdict.PASS, ())


def test_a_probe_with_a_growing_backlog_fails_with_the_reason():
    verdict, reasons = judge_probe(summarise(evidence(limit=400)), None)
    assert verdict is Verdict.FAIL
    assert any("backlog" in reason or "overloaded" in reason for reason in reasons)


def test_a_probe_too_short_for_a_steady_state_can_still_pass():
    """Twelve micro-batches are no steady state, but their queue stays empty."""
    summary = summarise(evidence(duration_s=6.0))
    assert summary["verdict"] == "unknown"
    assert judge_probe(summary, None)[0] is Verdict.PASS


@pytest.mark.parametrize(("below_s", "verdict"), [(2.0, Verdict.PASS), (0.3, Verdict.FAIL)])
def test_a_latency_limit_decides_a_probe_that_keeps_up(below_s, verdict):
    found, reasons = judge_probe(summarise(evidence()), LatencyLimit("p95", below_s))
    assert found is verdict
    assert bool(reasons) is (verdict is Verdict.FAIL)


def test_a_percentile_that_rests_on_too_few_events_leaves_a_probe_undecided():
    summary = summarise(evidence())
    summary["end_to_end_latency_s"]["p99"] = None
    assert judge_probe(summary, LatencyLimit("p99", 1.0))[0] is Verdict.UNKNOWN


@pytest.mark.parametrize("text", ["p95", "p95>2s", "p42<2s", "p95<", "p95<soon", ""])
def test_what_is_no_latency_limit_is_refused(text):
    with pytest.raises(UsageError) as caught:
        parse_latency_limit(text)
    assert caught.value.where == "--latency"
    assert caught.value.remedy


def batches(rate_per_s, *, fixed_s=0.5, per_event_s=1e-3):
    """Summarise a query without a trigger interval: every micro-batch holds what came during the one before it."""
    takes_s = fixed_s / (1 - rate_per_s * per_event_s)
    return {
        "batch_duration_s": {"mean": takes_s},
        "batch_interval_s": {"mean": takes_s},
        "phases_s": {"tasks": takes_s - fixed_s},
        "processed_rate_per_s": rate_per_s,
    }


@pytest.mark.parametrize("rate_per_s", [50.0, 400.0, 800.0])
def test_micro_batches_tell_the_capacity_at_any_rate(rate_per_s):
    found = capacity_of(batches(rate_per_s), parse_settings())
    # Micro-batches of 3 s, of which half a second passes without tasks.
    assert found == pytest.approx(1000 * 2.5 / 3)


def test_the_admission_limit_and_the_trigger_decide_the_capacity_where_they_are_given():
    limited = parse_settings(max_rows_per_batch=500)
    assert capacity_of(batches(400.0), limited) == pytest.approx(500 / (0.5 + 0.5))
    assert capacity_of(batches(400.0), parse_settings(max_rows_per_batch=500, trigger="2s")) == pytest.approx(250)


@pytest.mark.parametrize("missing", ["batch_duration_s", "batch_interval_s"])
def test_a_run_without_micro_batches_tells_no_capacity(missing):
    assert capacity_of(batches(400.0) | {missing: {"mean": None}}, parse_settings()) is None
    assert capacity_of(batches(400.0, fixed_s=3.5) | {"phases_s": {}}, parse_settings()) is None


def test_micro_batches_without_time_for_tasks_tell_no_capacity():
    assert capacity_of(batches(400.0, fixed_s=3.5), parse_settings()) is None
