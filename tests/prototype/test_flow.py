"""The flows of the sources become one arrival law."""

import numpy as np
import pytest

from prototype.applications import FLOWS, STAR, source
from streamgauge.arrivals import parse_law
from streamgauge.prototype.graph.application import Data, Flow, Source
from streamgauge.prototype.graph.flow import arrivals_of, rate_at, take_turns, total_rate_per_s

TIMES_S = np.arange(0.0, 30.0, 0.173)


def law_of(sources, rate_per_s=None):
    return parse_law(arrivals_of(sources), rate_per_s=rate_per_s or total_rate_per_s(sources))


@pytest.mark.parametrize(
    ("flow", "text"),
    [
        (Flow(), "constant"),
        (Flow("sin", phase_s=60.0), "sine(phase=60s, offset=0s)"),
        (Flow("sawtooth", phase_s=60.0, offset_s=3.5), "sawtooth(phase=60s, offset=3.5s)"),
        (Flow("revsawtooth"), "reverse-sawtooth(phase=300s, offset=0s)"),
        (Flow("burst"), "burst(interval=300s, duration=120s, offset=0s)"),
        (Flow("burst", burst_rate_per_s=5e4), "burst(burst_rate=50k, interval=300s, duration=120s, offset=0s)"),
    ],
)
def test_every_shape_is_an_arrival_law(flow, text):
    assert arrivals_of([source(flow=flow)]) == text


@pytest.mark.parametrize("flow", [one.flow for one in FLOWS.sources], ids=lambda flow: flow.distribution)
def test_the_law_of_a_source_has_its_rate_at_every_time(flow):
    one = source(flow=flow)
    mine = rate_at(one, np.rint(TIMES_S * 1e6).astype(np.int64))
    assert np.allclose(law_of([one]).rate_at(TIMES_S), mine)


def test_the_law_of_several_sources_is_the_sum_of_theirs():
    apart = sum(law_of([one]).rate_at(TIMES_S) for one in FLOWS.sources)
    assert np.allclose(law_of(FLOWS.sources).rate_at(TIMES_S), apart, rtol=1e-3, atol=1.0)


def test_another_rate_of_the_run_changes_the_total_and_keeps_the_shape():
    sources = [source("a", flow=Flow(rate_per_s=3000.0)), source("b", flow=Flow("sin", 1000.0, phase_s=10.0))]
    once, twice = (law_of(sources, rate_per_s).rate_at(TIMES_S) for rate_per_s in (4000.0, 8000.0))
    assert np.allclose(twice, 2 * once, atol=1.0)


def test_rates_of_instances_add_up():
    flow = Flow("burst", 100.0, rate_scope="instance", burst_rate_per_s=700.0, interval_s=2.0, duration_s=1.0)
    several = Source("several", 3, Data(), flow)
    assert total_rate_per_s([several]) == 300.0
    assert law_of([several]).max_rate_per_s(10.0) == 2100.0


def test_only_sources_with_the_same_flow_take_turns():
    assert take_turns(STAR.sources)
    assert not take_turns(FLOWS.sources)
    assert not take_turns([source("a", flow=Flow(rate_per_s=1.0)), source("b", flow=Flow(rate_per_s=2.0))])


def test_sources_without_limit_have_no_rate():
    assert total_rate_per_s([source(flow=Flow(rate_per_s=0.0))]) == 0.0
