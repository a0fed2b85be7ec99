"""What a run says about itself when its load has more than one rate."""

from dataclasses import replace

import numpy as np
import pytest

from made_runs.samples import ORIGIN_US, at_us, evidence
from made_runs.simulated_server import Server
from streamgauge.arrivals import Constant, parse_law
from streamgauge.conclude.summary import summarise
from streamgauge.conclude.window import measured_part
from streamgauge.measure import is_level

SINE = "sine(peak=6000, phase=10s)"


def served(arrivals, *, server=None, warmup_s=5.0, duration_s=40.0):
    """Return the evidence of a run at a law, on a server that handles 10,000 events per second."""
    usual = evidence(warmup_s=warmup_s, duration_s=duration_s)
    settings = replace(usual.settings, arrivals=arrivals)
    schedule = settings.law.schedule(settings.load_s)
    rng = np.random.default_rng(1)
    batches = (server or Server()).batches(schedule, rng, until_s=settings.load_s + 30)
    return replace(usual, settings=settings, schedule=schedule, batches=batches, closed_us=at_us(settings.load_s))


def questions(summary):
    return {finding["question"]: finding["verdict"] for finding in summary["findings"]}


@pytest.mark.parametrize(
    ("law", "expected"),
    [
        ("constant(rate=1000)", True),
        ("poisson(rate=1000)", True),
        # Ten times in every part: the parts are alike.
        ("burst(rate=500, burst_rate=5000, interval=0.2s, duration=0.02s)", True),
        ("sine(peak=1000, phase=10s)", False),
        ("ramp(from=100, to=200, over=20s)", False),
        ("constant(rate=1000) for 10s then constant(rate=1500)", False),
    ],
)
def test_a_load_is_level_when_all_its_parts_have_the_same_rate(law, expected):
    schedule = parse_law(law, rate_per_s=1000.0).schedule(20.0)
    assert is_level(schedule, ORIGIN_US, at_us(0), at_us(20.0)) is expected


def test_a_sine_that_is_followed_passes_and_is_not_asked_for_a_steady_state():
    summary = summarise(served(SINE))
    assert (summary["verdict"], summary["reasons"]) == ("pass", [])
    assert "steady" not in questions(summary)
    assert summary["steady_state"]["settled"] is None
    assert summary["steady_state"]["reason"] == "not asked: the load varies"
    assert summary["backlog_events"]["slope_per_s"] is None
    assert summary["back_pressure"]["state"] == "normal"


def test_the_rates_of_a_varying_load_are_means_over_the_measured_time():
    """Four whole phases: half of the peak."""
    summary = summarise(served(SINE))
    assert summary["offered_rate_per_s"] == pytest.approx(3000, rel=1e-3)
    assert summary["processed_rate_per_s"] == pytest.approx(3000, rel=0.05)


def test_a_spike_above_capacity_that_is_worked_off_passes():
    spike = "constant(rate=2000) for 15s then constant(rate=20000) for 5s then constant(rate=2000)"
    summary = summarise(served(spike, server=Server(limit=20_000)))
    assert summary["verdict"] == "pass"
    assert summary["back_pressure"]["state"] == "alternating"
    assert len(summary["back_pressure"]["episodes"]) == 1


def test_a_load_that_rises_above_capacity_for_good_fails():
    rising = "constant(rate=2000) for 15s then constant(rate=20000)"
    summary = summarise(served(rising, server=Server(limit=20_000)))
    assert questions(summary)["sustained"] == "fail"


def test_the_measured_time_can_be_made_to_begin_at_a_given_second():
    run = evidence()
    measured = measured_part(run, from_s=12.0)
    assert measured.from_us == at_us(12.0)
    assert measured.first_event == int(Constant(1000.0).schedule(25.0).created(12_000_000 - 1))
    assert min(b.emitted_us for b in measured.batches) >= at_us(12.0)
