import math

import pytest

from prototype.applications import pipeline, source
from streamgauge.prototype.graph.application import (
    Application,
    Data,
    Flow,
    PrototypeTask,
    Source,
    SourceTopic,
    TaskWindow,
)
from streamgauge.prototype.graph.costs import Costs
from streamgauge.prototype.graph.flow import arrivals_of, mean_rate_per_s, total_rate_per_s


def chain(*tasks: PrototypeTask) -> Application:
    return pipeline(source(), *tasks)


def test_a_tuple_that_takes_both_branches_arrives_twice():
    costs = Costs(
        chain(
            PrototypeTask("upper", 1, ("source",), processing=1.0),
            PrototypeTask("lower", 1, ("source",), processing=2.0),
            PrototypeTask("join", 1, ("upper", "lower"), processing=4.0),
            PrototypeTask("end", 1, ("join",), processing=8.0),
        )
    )
    assert costs.tuples == {"source": 1.0, "upper": 1.0, "lower": 1.0, "join": 2.0, "end": 2.0}
    assert costs.total_cycles == 1000 + 2000 + 2 * 4000 + 2 * 8000


def test_a_filter_pays_for_what_it_drops():
    costs = Costs(
        chain(
            PrototypeTask("a", 1, ("source",), processing=1.0, filtering=0.25),
            PrototypeTask("b", 1, ("a",), processing=1.0),
        )
    )
    assert costs.tuples == {"source": 1.0, "a": 1.0, "b": 0.25}
    assert costs.total_cycles == 1250


def test_a_filter_of_0_and_one_of_1_forward_everything():
    for share in (0.0, 1.0):
        costs = Costs(chain(PrototypeTask("a", 1, ("source",), filtering=share), PrototypeTask("b", 1, ("a",))))
        assert costs.tuples["b"] == 1.0


def test_copies_and_broadcasts_multiply():
    costs = Costs(
        chain(
            PrototypeTask("copies", 2, ("source",), selectivity=2.5),
            PrototypeTask("everywhere", 3, ("copies",), "broadcast"),
            PrototypeTask("end", 3, ("everywhere",)),
        )
    )
    assert costs.tuples == {"source": 1.0, "copies": 1.0, "everywhere": 7.5, "end": 7.5}


def test_results_of_windows_are_not_counted_but_other_tuples_beside_them_are():
    window = TaskWindow("tumbling", 10, 10)
    costs = Costs(
        chain(
            PrototypeTask("window", 1, ("source",), processing=1.0, window=window),
            PrototypeTask("after", 1, ("window",), processing=1.0),
            PrototypeTask("both", 1, ("after", "source"), processing=1.0),
        )
    )
    assert costs.tuples == {"source": 1.0, "window": 1.0, "after": None, "both": 1.0}
    assert costs.total_cycles == 2000


@pytest.mark.parametrize(("length_s", "slide_s", "windows"), [(10, 10, 1.0), (10, 5, 2.0), (10, 4, 2.5), (5, 10, 0.5)])
def test_a_load_is_paid_for_every_window_that_a_tuple_is_in(length_s, slide_s, windows):
    kind = "tumbling" if length_s == slide_s else "sliding"
    costs = Costs(
        chain(PrototypeTask("window", 1, ("source",), processing=1.0, window=TaskWindow(kind, length_s, slide_s)))
    )
    assert costs.total_cycles == 1000 * windows


def test_sources_share_the_tuples_by_their_mean_rates():
    steady, wave = source("steady", flow=Flow(rate_per_s=1000.0)), source("wave", flow=Flow("sin", 6000.0))
    costs = Costs(
        pipeline(steady, wave, PrototypeTask("all", 1, ("steady", "wave")), PrototypeTask("half", 1, ("steady",)))
    )
    assert costs.tuples == {"steady": 0.25, "wave": 0.75, "all": 1.0, "half": 0.25}
    assert costs.rate_per_s == 4000.0


def test_sources_as_fast_as_possible_share_the_tuples_equally():
    flow = Flow(rate_per_s=0.0)
    costs = Costs(pipeline(source("a", flow=flow), source("b", flow=flow), PrototypeTask("all", 1, ("a", "b"))))
    assert costs.tuples == {"a": 0.5, "b": 0.5, "all": 1.0}
    assert costs.rate_per_s is None
    assert costs.cores is None


def test_cycles_become_time_by_their_cost():
    application = chain(
        PrototypeTask("a", 1, ("source",), processing=4.5), PrototypeTask("b", 1, ("a",), processing_us=10.0)
    )
    unknown, known = Costs(application), Costs(application, ns_per_cycle=2.0)
    assert (unknown.total_cycles, unknown.total_timed_us, unknown.total_cpu_us) == (4500.0, 10.0, None)
    assert known.total_cpu_us == 9.0 + 10.0
    assert known.cores == pytest.approx(19e-6 * 1000)
    assert [known.cpu_us(task) for task in application.tasks] == [9.0, 10.0]
    assert [unknown.cpu_us(task) for task in application.tasks] == [None, 10.0]


def test_loads_in_time_need_no_cost_of_a_cycle():
    application = chain(
        PrototypeTask("a", 1, ("source",), processing=0.0), PrototypeTask("b", 1, ("a",), processing_us=10.0)
    )
    assert Costs(application).total_cpu_us == 10.0


FLOWS = [
    Flow(rate_per_s=1000.0),
    Flow("sin", 1000.0, phase_s=60.0),
    Flow("sawtooth", 1000.0, phase_s=30.0),
    Flow("revsawtooth", 1000.0, phase_s=30.0),
    Flow("burst", 1000.0, interval_s=30.0, duration_s=10.0, burst_rate_per_s=5000.0),
    Flow("burst", 1000.0, interval_s=30.0, duration_s=10.0),
    Flow("burst", 1000.0, interval_s=30.0, duration_s=10.0, burst_rate_per_s=5000.0, rate_scope="instance"),
]


@pytest.mark.parametrize("flow", FLOWS)
def test_the_mean_rate_is_that_of_the_arrival_law(flow):
    from streamgauge.arrivals import parse_law

    made = Source("s", 3, Data(), flow)
    law = parse_law(arrivals_of([made]), rate_per_s=total_rate_per_s([made]))
    assert mean_rate_per_s(made) == pytest.approx(law.mean_rate_per_s(1200.0), rel=1e-3)


def test_a_topic_has_no_rate_of_its_own():
    assert mean_rate_per_s(Source("s", 1, Data(), Flow(), SourceTopic("broker:9092"))) is None


def test_costs_are_finite():
    costs = Costs(chain(PrototypeTask("a", 1, ("source",), processing=0.0)), 1.0)
    assert costs.total_cpu_us == 0.0
    assert math.isfinite(costs.cores or 0.0)
