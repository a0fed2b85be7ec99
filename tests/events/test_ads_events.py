from statistics import NormalDist

import numpy as np
import pytest

from streamgauge.arrivals import Constant, Schedule
from streamgauge.events.ads import EVENTS, AdsEvents

BASE_US = 1_436_918_400_000_000


def make(schedule, *, seed=1, first=0, **parameters):
    arrivals = schedule.arrivals(np.arange(first, schedule.total), load_us=BASE_US)
    return EVENTS.arrays(AdsEvents(**parameters), seed, arrivals)


def even(events, rate_per_s):
    return Constant(rate_per_s).schedule(events / rate_per_s)


def delays_s(events):
    """Return the time from ad to click of every click; each must have one ad."""
    is_ad = events["kind"] == "ad"
    shown = dict(zip(events["id"][is_ad], events["created"][is_ad], strict=True))
    assert len(shown) == np.count_nonzero(is_ad), "two ads have the same identifier"
    pairs = zip(events["id"][~is_ad], events["created"][~is_ad], strict=True)
    return np.array([clicked - shown[ad] for ad, clicked in pairs]) / 1e6


def kolmogorov(values, law):
    cdf = np.array([law.cdf(value) for value in np.sort(values)])
    ranks = np.arange(len(values) + 1) / len(values)
    return max(np.max(np.abs(cdf - ranks[:-1])), np.max(np.abs(cdf - ranks[1:])))


CASES = [(200.0, 20_000), (1_000.0, 100_000), (1_300.0, 130_000), (7_777.7, 500_000)]


@pytest.mark.parametrize(("rate_per_s", "events"), CASES)
def test_l5_delays_are_normal_with_a_mean_of_10_s_and_a_deviation_of_1_s(rate_per_s, events):
    delays = delays_s(make(even(events, rate_per_s)))
    assert np.mean(delays) == pytest.approx(10, abs=0.05)
    assert np.std(delays) == pytest.approx(1, abs=0.1)
    assert kolmogorov(delays, NormalDist(10, 1)) < 0.025


@pytest.mark.parametrize(("rate_per_s", "events"), CASES)
def test_3_ads_in_10_are_clicked_and_no_ad_twice(rate_per_s, events):
    made = make(even(events, rate_per_s))
    clicked = made["id"][made["kind"] == "click"]
    assert len(set(clicked)) == len(clicked)
    later = made["created"] >= BASE_US + 20_000_000
    clicks = np.count_nonzero(made["kind"][later] == "click")
    assert clicks / (np.count_nonzero(later) - clicks) == pytest.approx(0.3, abs=0.005)


@pytest.mark.parametrize("probability", [0.01, 0.17, 0.5, 1.0])
def test_the_share_of_clicked_ads_can_be_set(probability):
    made = make(even(60_000, 1_000.0), click_probability=probability)
    later = made["created"] >= BASE_US + 20_000_000
    clicks = np.count_nonzero(made["kind"][later] == "click")
    assert clicks / (np.count_nonzero(later) - clicks) == pytest.approx(probability, abs=0.005)
    assert np.mean(delays_s(made)) == pytest.approx(10, abs=0.1)


@pytest.mark.parametrize(("mean_s", "sd_s"), [(2.0, 0.2), (30.0, 3.0), (5.0, 0.0)])
def test_the_delay_can_be_set(mean_s, sd_s):
    delays = delays_s(make(even(100_000, 1_000.0), click_delay_s=mean_s, click_delay_sd_s=sd_s))
    assert np.mean(delays) == pytest.approx(mean_s, rel=0.01)
    assert np.std(delays) == pytest.approx(sd_s, rel=0.05, abs=0.005)


def test_every_ad_in_turn_can_be_the_clicked_one():
    """Of three or four ads in a row one is clicked, and not always the same."""
    made = make(even(100_000, 1_000.0))
    ads = made["id"][made["kind"] == "ad"][20_000:40_000]
    clicked = set(made["id"][made["kind"] == "click"])
    is_clicked = np.array([ad in clicked for ad in ads])
    places = [np.mean(is_clicked[place::10]) for place in range(10)]
    assert np.mean(is_clicked) == pytest.approx(0.3, abs=0.01)
    assert min(places) > 0.2
    assert max(places) < 0.4


def test_neighbouring_clicks_have_different_delays():
    delays = delays_s(make(even(100_000, 1_000.0)))
    assert np.corrcoef(delays[:-1], delays[1:])[0, 1] < 0.2


def test_at_first_there_are_only_ads():
    made = make(even(30_000, 1_000.0))
    assert set(made["kind"][:6_000]) == {"ad"}
    assert set(made["kind"][14_000:]) == {"ad", "click"}


def test_events_far_after_the_others_are_ads():
    made = make(even(30_000, 1_000.0).with_tail(20, after_s=86_400.0))
    assert set(made["kind"][-20:]) == {"ad"}


def test_when_the_rate_changes_clicks_have_ads_and_the_delays_are_soon_right_again():
    knots = Schedule(np.array([0, 30_000_000, 60_000_000]), np.array([0, 30_000, 90_000]))
    delays = delays_s(make(knots))
    assert np.all(delays > 0)
    assert np.mean(delays[-4_000:]) == pytest.approx(10, abs=0.1)


def test_events_depend_on_the_seed_and_repeat_with_it():
    one, again, other = (make(even(20_000, 1_000.0), seed=seed)["id"].tolist() for seed in (1, 1, 2))
    assert one == again
    assert one != other


def test_events_do_not_depend_on_where_a_partition_begins():
    schedule = even(20_000, 1_000.0)
    whole, part = make(schedule), make(schedule, first=12_345)
    assert all(whole[name][12_345:].tolist() == part[name].tolist() for name in whole)


def test_creation_times_are_whole_milliseconds_and_never_later_than_the_schedule():
    schedule = even(1_000, 777.0)
    early_us = BASE_US + schedule.times_us(np.arange(1_000)) - make(schedule)["created"]
    assert np.all((early_us >= 0) & (early_us < 1000))
