"""Values and tuples of sources: in order, by their law, and the same for the same seed."""

from collections import Counter
from itertools import product
from statistics import NormalDist
from string import ascii_lowercase

import numpy as np
import pytest

from prototype.applications import FLOWS, STAR, pipeline, source
from streamgauge.arrivals import Arrivals, parse_law
from streamgauge.events.columns import SLOTS
from streamgauge.prototype.graph.application import Data, Flow, PrototypeTask, Source
from streamgauge.prototype.graph.flow import arrivals_of, total_rate_per_s
from streamgauge.prototype.graph.values import bell_borders, index_law, value_array, values_of
from streamgauge.prototype.parameters import parameters_of
from streamgauge.prototype.workload import application_events


def tuples(application, events=10_000, seed=1, arrivals=None):
    parameters = parameters_of(application)
    stream = application_events(application, parameters)
    arrivals = arrivals or Arrivals.spaced(np.arange(events), load_us=0, period_us=1000)
    return stream.table(parameters(), seed=seed, arrivals=arrivals)


@pytest.mark.parametrize(
    ("size", "values"), [(1, 1), (1, 26), (2, 5), (2, 676), (3, 27), (3, 700), (3, 26**3), (4, 2000)]
)
def test_values_stand_in_order_and_the_last_letter_changes_fastest(size, values):
    every = ("".join(letters) for letters in product(ascii_lowercase, repeat=size))
    expected = [value for value, _ in zip(every, range(values), strict=False)]
    assert value_array(np.arange(values), Data(size, values)).tolist() == expected


def test_letters_that_never_change_are_there_too():
    made = value_array(np.array([0, 1, 26, 999]), Data(180, 1000))
    assert [value[-3:] for value in made] == ["aaa", "aab", "aba", "bml"]
    assert {len(value) for value in made} == {180}
    assert {value[:-3] for value in made} == {"a" * 177}


def _probabilities(law, values):
    """Return how likely each index is: a slot is drawn, and then one of its indices."""
    found = np.zeros(values)
    for low, width in zip(law.low, law.width, strict=True):
        found[low : low + width] += 1 / SLOTS / width
    return found


@pytest.mark.parametrize("values", [1, 2, 26, 100, 1000, 50_000])
def test_nonuniform_values_have_the_law_of_a_normal_number_that_is_drawn_until_it_is_an_index(values):
    normal = NormalDist(values / 2, values / 5)
    weights = np.diff([normal.cdf(border - 0.5) for border in range(values + 1)])
    found = _probabilities(index_law(Data(8, values, "nonuniform")), values)
    assert np.abs(np.cumsum(found) - np.cumsum(weights) / weights.sum()).max() < 1 / SLOTS


def test_nonuniform_values_are_cut_into_the_same_slots_by_their_weights():
    normal = NormalDist(50, 20)
    weights = np.diff([normal.cdf(border - 0.5) for border in range(101)])
    reached = np.cumsum(weights) / np.sum(weights)
    by_weights = np.searchsorted(reached, np.arange(SLOTS + 1) / SLOTS - 1e-12)
    assert np.minimum(by_weights, 99).tolist() == bell_borders(100)


def test_a_bell_over_more_values_than_fit_in_memory_is_made_at_once():
    law = index_law(Data(12, 10**15, "nonuniform"))
    assert abs(int(law.low[2048]) - 10**15 // 2) < 10**12
    assert int(law.low[0]) == 0
    assert int(law.low[-1] + law.width[-1]) < 10**15


def test_drawn_values_are_about_as_frequent_as_their_law_says():
    for data in (Data(3, 100), Data(3, 100, "nonuniform"), Data(3, 100, "zipf", 1.5)):
        law = index_law(data)
        likely = np.full(100, 0.01) if law is None else _probabilities(law, 100)
        counts = Counter(tuples(pipeline(source(data=data)), 100_000)["value"].to_pylist())
        seen = np.array([counts[value] for value in value_array(np.arange(100), data)])
        assert np.abs(seen - 100_000 * likely).max() < 5 * np.sqrt(100_000 * likely.max())


def test_the_same_seed_makes_the_same_tuples_and_another_seed_others():
    application = pipeline(source())
    assert tuples(application).equals(tuples(application))
    assert tuples(application)["value"] != tuples(application, seed=2)["value"]


def test_a_tuple_counts_among_those_of_its_source_instance():
    made = tuples(pipeline(source(parallelism=3)), 10)
    assert made["num"].to_pylist() == [1, 1, 1, 2, 2, 2, 3, 3, 3, 4]
    assert made["id"].to_pylist() == list(range(10))


def test_sources_with_equal_flows_take_turns_and_count_without_gaps():
    made = tuples(STAR, 12).to_pandas()
    assert made["source"].tolist() == [0, 1] * 6
    assert made.loc[made["source"] == 0, "num"].tolist() == [1, 2, 3, 4, 5, 6]
    assert made.loc[made["source"] == 1, "num"].tolist() == [1, 1, 2, 2, 3, 3]
    assert {len(value) for value in made.loc[made["source"] == 1, "value"]} == {3}


def test_a_time_is_exact_to_the_microsecond():
    arrivals = Arrivals.spaced(np.arange(3), load_us=1_700_000_000_000_000, period_us=333)
    made = tuples(pipeline(source()), arrivals=arrivals)
    assert made["timestamp"].cast("int64").to_pylist() == arrivals.time_us.tolist()


def test_sources_have_the_shares_of_their_rates_at_every_time():
    sources = FLOWS.sources
    law = parse_law(arrivals_of(sources), rate_per_s=total_rate_per_s(sources))
    schedule = law.schedule(28.0)
    arrivals = schedule.arrivals(np.arange(schedule.total), load_us=5_000_000)
    made = tuples(FLOWS, arrivals=arrivals).to_pandas()
    second = (arrivals.time_us - 5_000_000) // 1_000_000
    own = [parse_law(arrivals_of([one]), rate_per_s=total_rate_per_s([one])) for one in sources]
    for index, one in enumerate(own):
        expected = np.diff(one.integral(np.arange(29.0)))
        seen = np.bincount(second[made["source"] == index], minlength=28)
        assert np.all(np.abs(seen - expected) < 6 * np.sqrt(expected + 10)), sources[index].name


def test_instances_with_their_own_rate_make_a_source_faster():
    alone = source("a", 1, flow=Flow(rate_per_s=100.0))
    several = Source("b", 4, Data(), Flow(rate_per_s=100.0, rate_scope="instance"))
    made = tuples(pipeline(alone, several), 50_000)["source"].to_numpy()
    assert abs(made.mean() - 0.8) < 0.01


def test_a_parameter_gives_all_sources_another_law_of_their_values():
    application = pipeline(source(data=Data(2, 30, "nonuniform")), PrototypeTask("work", 1, ("source",)))
    parameters = parameters_of(application)
    stream = application_events(application, parameters)
    arrivals = Arrivals.spaced(np.arange(100_000), load_us=0, period_us=10)
    for zipf in (None, 0.0, 1.2):
        drawn = stream.table(parameters(zipf=zipf), seed=1, arrivals=arrivals)["value"].to_pandas()
        shares = drawn.value_counts(normalize=True)
        expected = values_of(application, zipf)
        assert set(shares.index) <= set(expected)
        assert sum(expected.values()) == pytest.approx(1.0)
        assert all(shares.get(text, 0.0) == pytest.approx(share, abs=0.005) for text, share in expected.items())
