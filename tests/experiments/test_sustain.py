import pytest

from made_runs.samples import evidence
from streamgauge.conclude.summary import summarise
from streamgauge.errors import UsageError
from streamgauge.experiments.sustain import LatencyLimit, judge_probe, parse_latency_limit
from streamgauge.verdict import Verdict


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
    assert caught.value.where == "--limit"
    assert caught.value.remedy
